"""YAML that others have written, read safely: plain values with locations, and nothing constructed."""

"""The content of an engine's plan."""

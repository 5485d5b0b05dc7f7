"""The check run of a configuration."""

"""Convert configuration files of other tools to tidegate.yaml."""

"""The configuration file ``tidegate.yaml``: model, loader, and matching of files to roots."""

"""Turning configuration files of other tools into tidegate.yaml."""

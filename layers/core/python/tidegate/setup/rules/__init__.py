"""What the App needs, and who may create it. Pure."""

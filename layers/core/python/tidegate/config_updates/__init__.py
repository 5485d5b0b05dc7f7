"""Config updates: images that CI announces, tested on an auto branch, promoted from environment to environment."""

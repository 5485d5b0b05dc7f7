"""The repository's configuration file: its model, its loader and the matching of files to roots."""

"""The API of GitHub."""

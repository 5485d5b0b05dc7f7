"""The file of the organization."""

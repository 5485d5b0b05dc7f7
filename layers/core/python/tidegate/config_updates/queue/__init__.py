"""The queue of a config repository and its worker."""

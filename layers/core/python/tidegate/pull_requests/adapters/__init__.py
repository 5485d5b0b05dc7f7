"""The store of pull requests and speculative plans."""

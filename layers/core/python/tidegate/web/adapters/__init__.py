"""The store of sign-outs."""

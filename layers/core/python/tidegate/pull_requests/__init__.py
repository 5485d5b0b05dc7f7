"""Pull requests: speculative plans, comments, applies before the merge."""

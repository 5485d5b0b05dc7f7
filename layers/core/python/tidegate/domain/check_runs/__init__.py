"""Check runs: how each state of a deployment looks."""

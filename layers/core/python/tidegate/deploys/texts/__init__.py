"""How each state of a deployment looks in a check run."""

"""Check-run texts for each state of a deployment."""

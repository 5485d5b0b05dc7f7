"""What a plan of the engine says."""

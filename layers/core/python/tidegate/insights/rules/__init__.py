"""What a deployment adds to its day, and what days say together."""

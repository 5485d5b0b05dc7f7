"""People ask for something in comments."""

"""Tag queries."""

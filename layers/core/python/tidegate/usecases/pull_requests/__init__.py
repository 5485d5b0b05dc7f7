"""Pull requests: discovered, planned, shown, applied, closed."""

"""A change of several roots: stacks, layers, gates, who waits for whom."""

"""Change sets, stacks and their order."""

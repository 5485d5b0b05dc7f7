"""Change sets: roots, stacks, and dependencies of one revision."""

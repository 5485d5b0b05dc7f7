"""What one revision changes: roots, stacks, and who waits for whom."""

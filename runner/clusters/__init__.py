"""Tasks and hooks of cluster workflows: what runs in the runner's image for clusters."""

"""Gates: deployments that wait for other stacks, freezes and apply requirements."""

"""Gates: deployments that wait for others of their change."""

"""Check runs of deployments, published when something changes."""

"""Values of tidegate.yaml that other features use."""

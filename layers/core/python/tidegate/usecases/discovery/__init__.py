"""What a commit changes becomes deployments."""

"""Jobs of a deployment: where they run, what stops and ends them."""

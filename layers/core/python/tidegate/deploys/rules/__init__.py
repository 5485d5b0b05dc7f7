"""A deployment, its queue, its gates, its job."""

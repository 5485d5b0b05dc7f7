"""Stores of deployments, queues and jobs, and the event publisher."""

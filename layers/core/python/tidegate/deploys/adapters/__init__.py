"""Stores of deployments, queues and jobs, and what is published of them."""

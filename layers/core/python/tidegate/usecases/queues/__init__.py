"""Queues: deployments in line, and who works on them."""

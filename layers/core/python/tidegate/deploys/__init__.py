"""Deployments: queues, plans, reviews and jobs."""

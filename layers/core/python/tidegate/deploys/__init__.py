"""Deployments: their queue, their plan, their review, their jobs."""

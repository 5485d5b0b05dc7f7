"""Figures of how deployments went: counted when they end, by day, stack and team."""

"""Concurrency slots of the installation: each job of a runner takes one, applies before plans."""

"""Concurrency slots of the installation: each job of a runner takes one, first come, first served."""

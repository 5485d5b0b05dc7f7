"""Concurrency slots for runners: take, wait, release."""

"""Concurrency slots for runners: taken, waited for, given back."""

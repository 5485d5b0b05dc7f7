"""Concurrency slots: taken, waited for, given back, shown."""

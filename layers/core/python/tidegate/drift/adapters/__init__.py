"""The store of drift runs, their schedules and events."""

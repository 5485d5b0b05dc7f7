"""The reconciler's repairs: one file for each, with one class whose ``repair`` takes a turn and returns a count."""

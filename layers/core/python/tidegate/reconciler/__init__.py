"""The reconciler: one function for each kind of missed event."""

"""The reconciler: one function for each repair of what events missed."""

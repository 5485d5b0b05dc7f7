"""Rules of notifications: what is told to whom, and when a delivery is tried again."""

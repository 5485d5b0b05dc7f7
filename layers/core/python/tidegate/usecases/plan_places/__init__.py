"""Places for speculative plans: waited for, given, looked at."""

"""The keys of ``tidegate.yaml``: what each may be, and what it is for."""

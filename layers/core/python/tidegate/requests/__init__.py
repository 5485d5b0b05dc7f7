"""What people request by buttons, the API and re-runs."""

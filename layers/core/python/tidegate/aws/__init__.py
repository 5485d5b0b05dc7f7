"""AWS access: clients, the table, queue batches, executions, artifacts."""

"""What talks to AWS: clients, the table, batches of queues, executions, artifacts."""

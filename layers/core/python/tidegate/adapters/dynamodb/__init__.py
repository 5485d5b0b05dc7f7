"""The one table: records, queues and indexes in DynamoDB."""

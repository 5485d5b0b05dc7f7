"""The one-time code in DynamoDB, the secrets in Secrets Manager, and GitHub's manifest flow."""

"""Calls of the AWS API: who calls, may they, and who answers."""

"""Calls of the AWS API: authentication, authorization, and dispatch."""

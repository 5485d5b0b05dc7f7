"""A local stand-in for GitLab, as far as Tidegate uses it: git, REST API v4, webhooks, OAuth.

Its answers are checked against the fields and types that GitLab publishes (tests/gitlab). git, storage, the HTTP
server, webhook deliveries and faults are those of the other stand-in, ``tidegate_local/forge``.
"""

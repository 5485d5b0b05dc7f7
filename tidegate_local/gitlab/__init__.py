"""A GitLab of this machine that behaves like GitLab where Tidegate looks: git, REST API v4, webhooks, OAuth.

What it answers is checked against the fields and types that GitLab publishes (tests/gitlab). git, storage, the HTTP
server, webhook deliveries and faults are those of the other local forge, ``tidegate_local/forge``.
"""

"""VCS providers, GitHub and GitLab: their webhooks, and commands in comments."""

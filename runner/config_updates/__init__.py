"""Config updates in the runner: ``job`` makes commits with the repository's commands.

It has no token that could write. Another step, which runs nothing of the repository, pushes them:
``tidegate.config_updates.adapters.pushing`` (docs/decisions/0243).
"""

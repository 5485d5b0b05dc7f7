"""Config updates in the runner: ``replaying`` makes commits with the repository's commands, ``pushing`` moves a branch.

They are two tasks. The first, a job of the runner (``job``), runs code of the repository and has no token that could
write; the second has one, and runs nothing of the repository (docs/decisions/0243).
"""

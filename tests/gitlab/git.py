"""git as a person runs it, and the addresses that carry a token."""

from __future__ import annotations

import subprocess

from tests.gitlab.conftest import PROJECT


def git(*arguments, cwd):
    """Run git without questions, and return whether it succeeded and what it said."""
    environment = {"PATH": "/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(cwd)}
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def address(gitlab, token, project=PROJECT, user="oauth2"):
    return gitlab.url.replace("://", f"://{user}:{token}@") + f"/{project}.git"


def clones(gitlab, token, tmp_path, **more):
    return git("clone", "-q", address(gitlab, token, **more), "clone", cwd=tmp_path)[0]

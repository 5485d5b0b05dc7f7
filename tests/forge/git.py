"""git as a person runs it."""

from __future__ import annotations

import os
import subprocess

from tidegate_local.forge.git import ENVIRONMENT


def git(directory, *arguments, check=True):
    done = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done if not check else done.stdout.strip()

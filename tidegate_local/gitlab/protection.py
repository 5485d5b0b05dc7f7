"""The default branch is protected: who may push to it by git, and that nobody moves it aside."""

from __future__ import annotations

from pathlib import Path

#: git runs this before it takes a push; the environment names the protected ref, and who may push to it.
_HOOK = """#!/bin/sh
while read -r old new ref; do
    [ "$ref" = "$LOCAL_GITLAB_PROTECTED" ] || continue
    if [ "$LOCAL_GITLAB_MAY_PUSH" != yes ]; then
        echo "GitLab: You are not allowed to push code to protected branches on this project." >&2
        exit 1
    fi
    if [ -n "${old##*[!0]*}" ] || git merge-base --is-ancestor "$old" "$new"; then continue; fi
    echo "GitLab: You are not allowed to force push code to a protected branch on this project." >&2
    exit 1
done
"""


def install(repository: Path) -> None:
    """Let a bare repository look at each push before it takes it."""
    hook = repository / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_HOOK, encoding="ascii")
    hook.chmod(0o755)


def environment(ref: str | None, *, may_push: bool) -> dict[str, str]:
    """Return what the hook is told: the protected ref, if there is one, and whether this caller may push to it."""
    return {"LOCAL_GITLAB_PROTECTED": ref or "", "LOCAL_GITLAB_MAY_PUSH": "yes" if may_push else "no"}

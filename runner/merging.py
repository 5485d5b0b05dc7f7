"""A pull request's merge result: head and base, merged here by git.

Only the commits that the merge needs are fetched with files: head, base, and their merge base. If that is unknown, the
history between them is fetched first, without files (docs/decisions/0120).
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from pathlib import Path

from runner.faults import MergeFailed
from runner.workspace import Git, put_in_place
from tidegate.deploys.rules.job import Job
from tidegate.roots.rules.root import commit_sha

#: Commits of each branch that are fetched before all of them are.
_NEAR = 1_000
_ALL = 2_147_483_647  # git's own word for "all".
_NAMED = 10
#: git requires a committer, also for temporary commits.
_NOBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Tidegate"), ("EMAIL", "tidegate@localhost"))
}


def check_out_merged(git: Git, job: Job) -> Path:
    """Check out the merge of the job's commit and its base, and return the root's directory in it.

    Raise MergeFailed if a person must merge them, and RunnerFault.
    """
    head, base = commit_sha(job.sha), commit_sha(job.base_sha)
    common = [commit_sha(job.fork_sha)] if job.fork_sha else _common(git, head, base)
    if not common:
        raise MergeFailed(
            f"{head[:7]} cannot be merged with {base[:7]} of the base branch: they have no common ancestor. Nothing "
            "was planned. Recreate the branch from the base branch and push it."
        )
    git.begin(head)
    git.fetch(*{head, base, *common})
    return put_in_place(git, _merged(git, head, base, common), job.root.dir)


def file_of(git: Git, commit: str, path: str) -> str:
    """Return the text of a file in a fetched commit; empty if there is none."""
    entry = git.ask("ls-tree", "-z", commit, "--", path)[1].partition(b"\t")[0].split()
    if entry[1:2] != [b"blob"]:
        return ""
    return git.ask("cat-file", "blob", entry[2].decode("ascii"))[1].decode("utf-8", "replace")


def changed_files(git: Git, commit: str) -> frozenset[str]:
    """Return the paths of checked-out files that differ from a fetched commit.

    A changed ``.gitattributes`` makes git write all files at and below it differently: line ends, or encodings.
    """
    changed = _paths(git.ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", commit, "HEAD")[1])
    places = [posixpath.dirname(path) for path in changed if posixpath.basename(path) == ".gitattributes"]
    every = _paths(git.ask("ls-tree", "-r", "-z", "--name-only", "HEAD")[1]) if places else ()
    return changed.union(path for path in every if any(not place or path.startswith(f"{place}/") for place in places))


def _paths(output: bytes) -> frozenset[str]:
    return frozenset(os.fsdecode(path) for path in output.split(b"\0") if path)


def _common(git: Git, head: str, base: str) -> list[str]:
    """Return the best common ancestors by the history, because the VCS provider names only one."""
    history = replace(git, directory=git.directory.with_name("history"))
    history.begin(head, "--bare")
    for depth in (_NEAR, _ALL):
        history.fetch(head, base, options=(f"--depth={depth}", "--filter=tree:0"))
        found, output = history.ask("merge-base", "--all", head, base, no=1)
        if found or not (history.directory / "shallow").exists():
            return output.decode("ascii").split()
    return []


def _merged(git: Git, head: str, base: str, common: list[str]) -> str:
    """Return the commit to plan."""
    if base in common:
        return head
    if head in common:
        return base
    nobody = replace(git, environ={**git.environ, **_NOBODY})
    # Fetched commits are shallow. These have the same trees, and the merge base as their parent.
    parents = [word for each in common for word in ("-p", each)]
    ours, theirs = (_answer(nobody, "commit-tree", *parents, "-m", "-", f"{each}^{{tree}}") for each in (base, head))
    clean, output = nobody.ask("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs, no=1)
    tree, *files = [os.fsdecode(part) for part in output.split(b"\0") if part]
    if not clean:
        raise MergeFailed(_conflict(head, base, files))
    return _answer(nobody, "commit-tree", "-p", base, "-p", head, "-m", "-", tree)


def _answer(git: Git, *arguments: str) -> str:
    return git.ask(*arguments)[1].decode("ascii").strip()


def _conflict(head: str, base: str, files: list[str]) -> str:
    names = sorted(set(files))
    listed = ", ".join(map(ascii, names[:_NAMED]))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{head[:7]} cannot be merged with {base[:7]} of the base branch. Nothing was planned. Rebase this branch, or "
        f"merge the base branch into it, resolve the conflicts and push. Both change {listed}{more}."
    )

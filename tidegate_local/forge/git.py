"""Bare git repositories, through git itself: what the forge reads from them and writes to them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

NO_COMMIT = "0" * 40
#: git's configuration of this machine or user must not change what the forge does.
ENVIRONMENT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
#: What GitHub's servers allow too: partial clones, fetching any commit by its SHA.
CONFIGURATION = {
    "http.receivepack": "true",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowAnySHA1InWant": "true",
    "core.logAllRefUpdates": "false",
    "gc.auto": "0",
    "receive.autogc": "false",
}
_FIELDS = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"


class GitRefused(Exception):
    """git ended with an error: its last words."""


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    email: str
    date: str


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str

    @property
    def title(self) -> str:
        return self.message.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of a diff. ``status`` is in GitHub's words; ``previous`` is the name before a renaming."""

    name: str
    status: str
    additions: int
    deletions: int
    blob: str
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    base: str
    head: str
    merge_base: str
    ahead_by: int
    behind_by: int

    @property
    def status(self) -> str:
        if self.ahead_by and self.behind_by:
            return "diverged"
        return "ahead" if self.ahead_by else "behind" if self.behind_by else "identical"


@dataclass(frozen=True, slots=True)
class BareRepository:
    """One bare repository in ``path``. Names from outside reach git only after ``--`` or as full SHAs or refs."""

    path: Path

    @classmethod
    def create(cls, path: Path, default_branch: str, hidden: str = "refs/pull") -> BareRepository:
        """Make an empty repository whose default branch will be ``default_branch``.

        Nobody can push to refs below ``hidden``.
        """
        path.mkdir(parents=True)
        repository = cls(path)
        repository.run("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")
        with (path / "config").open("a", encoding="utf-8") as file:
            file.writelines(
                f"[{name.rpartition('.')[0]}]\n\t{name.rpartition('.')[2]} = {value}\n"
                for name, value in {**CONFIGURATION, "receive.hideRefs": hidden}.items()
            )
        return repository

    def run(self, *arguments: str, stdin: bytes | None = None, extra: dict[str, str] | None = None) -> str:
        """Return what ``git ARGUMENTS`` prints. Raise GitRefused."""
        return self.run_bytes(*arguments, stdin=stdin, extra=extra).decode("utf-8", "replace")

    def run_bytes(self, *arguments: str, stdin: bytes | None = None, extra: dict[str, str] | None = None) -> bytes:
        """Return the bytes that ``git ARGUMENTS`` prints. Raise GitRefused."""
        environment = {**os.environ, **ENVIRONMENT, "GIT_DIR": str(self.path), **(extra or {})}
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=environment, input=stdin, capture_output=True, check=False
        )
        if done.returncode:
            raise GitRefused(done.stderr.decode("utf-8", "replace").strip()[-500:])
        return done.stdout

    def refs(self) -> dict[str, str]:
        """Return every branch and tag as full ref name → SHA."""
        lines = self.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").splitlines()
        return {name: sha for sha, _, name in (line.partition(" ") for line in lines)}

    def branches(self) -> dict[str, str]:
        """Return every branch's name → SHA."""
        heads = "refs/heads/"
        return {name.removeprefix(heads): sha for name, sha in self.refs().items() if name.startswith(heads)}

    def resolve(self, name: str) -> str:
        """Return the commit's SHA that a SHA, branch, tag or full ref names. Raise GitRefused."""
        for candidate in (name, f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}"):
            try:
                return self.run(
                    "rev-parse", "--verify", "--quiet", "--end-of-options", f"{candidate}^{{commit}}"
                ).strip()
            except GitRefused:
                continue
        raise GitRefused(f"No commit found for {name}")

    def commit(self, sha: str) -> Commit:
        """Return one commit. Raise GitRefused."""
        return next(self._log("-1", sha))

    def log(self, revisions: str, limit: int = 30, skip: int = 0) -> list[Commit]:
        """Return the newest commits of ``revisions`` (SHA or SHA..SHA)."""
        return list(self._log(f"--max-count={limit}", f"--skip={skip}", revisions))

    def _log(self, *arguments: str) -> Iterator[Commit]:
        output = self.run("log", "-z", f"--format={_FIELDS}%x00%x01", *arguments, "--")
        for entry in output.split("\0\x01"):
            if fields := entry.removeprefix("\0"):
                yield _commit(fields.split("\0"))

    def changed_files(self, before: str, after: str) -> list[ChangedFile]:
        """Return the files that differ between two commits (or trees), with renames found."""
        raw = self.run_bytes("diff", "--raw", "--numstat", "-z", "-M", "--no-abbrev", before, after, "--")
        return list(_changed_files(raw.decode("utf-8", "replace").split("\0")))

    def changes_of(self, commits: list[Commit]) -> dict[str, tuple[Commit, list[ChangedFile]]]:
        """Return by SHA each commit with the files that it changed against its first parent (lines not counted)."""
        changes: dict[str, tuple[Commit, list[ChangedFile]]] = {one.sha: (one, []) for one in commits}
        arguments = ("--stdin", "-r", "-M", "-z", "--raw", "--root", "--no-abbrev", "--diff-merges=first-parent")
        output = self.run("diff-tree", *arguments, stdin="\n".join([*changes, ""]).encode())
        sha, parts = "", iter(output.split("\0"))
        for part in parts:
            if part.startswith(":"):
                changes[sha][1].append(_raw_entry(part, parts))
            elif part:
                sha = part
        return changes

    def patches(self, before: str, after: str) -> dict[str, str]:
        """Return each changed file's hunks by its new name, as GitHub's ``patch`` has them."""
        text = self.run(
            "diff", "-M", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", before, after, "--"
        )
        return dict(_patches(text, [file.name for file in self.changed_files(before, after)]))

    def empty_tree(self) -> str:
        """Return the SHA of the tree without files."""
        return self.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").strip()

    def compare(self, base: str, head: str) -> Comparison:
        """Tell how ``head`` relates to ``base`` (SHAs). Raise GitRefused without common history."""
        merge_base = self.run("merge-base", base, head).strip()
        behind, ahead = self.run("rev-list", "--left-right", "--count", f"{base}...{head}").split()
        return Comparison(base, head, merge_base, int(ahead), int(behind))

    def count(self, revisions: str) -> int:
        """Return how many commits ``revisions`` (SHA or SHA..SHA) holds."""
        return int(self.run("rev-list", "--count", revisions, "--"))

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Tell whether ``descendant``'s history holds ``ancestor``."""
        try:
            self.run("merge-base", "--is-ancestor", ancestor, descendant)
        except GitRefused:
            return False
        return True

    def file(self, sha: str, path: str) -> bytes:
        """Return a file's content at a commit. Raise GitRefused."""
        return self.run_bytes("cat-file", "blob", f"{sha}:{path}")

    def update_ref(self, ref: str, new: str, old: str) -> None:
        """Move a ref from ``old`` to ``new``. Raise GitRefused when it moved meanwhile."""
        self.run("update-ref", ref, new, old)

    def fetch(self, source: BareRepository, sha: str, ref: str) -> None:
        """Let ``ref`` here name a commit of another repository, and bring it over. Raise GitRefused."""
        self.run("fetch", "--quiet", "--no-tags", str(source.path), f"+{sha}:{ref}")

    def merged_tree(self, base: str, head: str) -> str:
        """Return the tree of both commits merged. Raise GitRefused when there are conflicts."""
        return self.run("merge-tree", "--write-tree", base, head).split("\n", 1)[0]

    def picked_tree(self, commit: Commit, onto: str) -> str:
        """Return the tree of ``onto`` with what a commit changed. Raise GitRefused when there are conflicts.

        git merges with a base of our choice only since 2.40, so commits are made that have this base.
        """
        nobody = Signature("nobody", "nobody@forge.invalid", "")
        start = self.commit_tree(f"{commit.parents[0]}^{{tree}}", (), "base", nobody, nobody)
        ours, theirs = (
            self.commit_tree(f"{sha}^{{tree}}", (start,), "side", nobody, nobody) for sha in (onto, commit.sha)
        )
        return self.merged_tree(ours, theirs)

    def commit_tree(
        self, tree: str, parents: tuple[str, ...], message: str, author: Signature, committer: Signature
    ) -> str:
        """Write a commit and return its SHA; an empty date means now."""
        people = {
            f"GIT_{role}_{what}": value
            for role, who in (("AUTHOR", author), ("COMMITTER", committer))
            for what, value in (("NAME", who.name), ("EMAIL", who.email), ("DATE", who.date))
            if value
        }
        arguments = [argument for parent in parents for argument in ("-p", parent)]
        return self.run("commit-tree", tree, *arguments, "-F", "-", stdin=message.encode(), extra=people).strip()


def _commit(fields: list[str]) -> Commit:
    sha, tree, parents, *people, message = fields
    author, committer = Signature(*people[:3]), Signature(*people[3:])
    return Commit(sha, tree, tuple(parents.split()), author, committer, message.rstrip("\n"))


_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


def _raw_entry(entry: str, names: Iterator[str]) -> ChangedFile:
    *_, blob, status = entry.split(" ")
    previous = next(names) if status[0] in "RC" else None
    return ChangedFile(next(names), _STATUS[status[0]], 0, 0, blob, previous)


def _changed_files(parts: list[str]) -> Iterator[ChangedFile]:
    """Read git's ``--raw --numstat -z``: first the raw entries, then the counts, in the same order."""
    found: dict[str, ChangedFile] = {}
    rest = iter(parts)
    for part in rest:
        if part.startswith(":"):
            file = _raw_entry(part, rest)
            found[file.name] = file
        elif part:
            additions, deletions, name = part.split("\t", 2)
            if not name:
                next(rest)
                name = next(rest)
            yield replace(found[name], additions=_lines(additions), deletions=_lines(deletions))


def _lines(count: str) -> int:
    return 0 if count == "-" else int(count)


def _patches(text: str, names: list[str]) -> Iterator[tuple[str, str]]:
    entries = ("\n" + text).split("\ndiff --git ")[1:]
    for name, entry in zip(names, entries, strict=True):
        _, hunk, body = entry.partition("\n@@ ")
        if hunk:
            yield name, f"@@ {body}".rstrip("\n")

"""Forks: a person's own copy of a repository, and commits from there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Repository


@dataclass(frozen=True, slots=True)
class Head:
    """A branch of a repository or of one of its forks, and its commit."""

    repository: Repository
    branch: str
    sha: str


def fork(hosting: Hosting, repository: Repository, owner: str) -> Repository:
    """Return ``owner``'s fork of a repository; the first call makes it, with all its branches and tags."""
    found = of(hosting, repository, owner)
    if found is not None:
        return found
    made = hosting.create_repository(owner, repository.name, repository.default_branch, private=repository.private)
    hosting.copy(repository, made)
    return hosting.store.change(Repository, made.id, lambda old: replace(old, fork_of=repository.repository))


def of(hosting: Hosting, repository: Repository, owner: str) -> Repository | None:
    """Return ``owner``'s fork of a repository."""
    forks = hosting.store.find(Repository, fork_of=repository.repository)
    return next((one for one in forks if one.owner.lower() == owner.lower()), None)


def head(hosting: Hosting, repository: Repository, name: str) -> Head | None:
    """Return the branch that ``BRANCH`` or ``OWNER:BRANCH`` names, seen from a repository."""
    owner, colon, branch = name.rpartition(":")
    own = not colon or owner.lower() == repository.owner.lower()
    there = repository if own else of(hosting, repository, owner)
    sha = hosting.git(there).branches().get(branch) if there else None
    return Head(there, branch, sha) if there and sha else None


def resolve(hosting: Hosting, repository: Repository, name: str) -> str:
    """Return the commit that a SHA, branch, tag or ``OWNER:BRANCH`` names, and have it here. Raise GitRefused."""
    git = hosting.git(repository)
    if ":" not in name:
        return git.resolve(name)
    found = head(hosting, repository, name)
    if found is None:
        raise GitRefused(f"No commit found for {name}")
    bring(hosting, repository, found, f"refs/compared/{found.repository.owner}/{found.branch}")
    return found.sha


def bring(hosting: Hosting, repository: Repository, source: Head, ref: str) -> None:
    """Let ``ref`` of a repository name a commit of it or of a fork."""
    git = hosting.git(repository)
    if source.repository.id == repository.id:
        git.run("update-ref", ref, source.sha)
    else:
        git.fetch(hosting.git(source.repository), source.sha, ref)

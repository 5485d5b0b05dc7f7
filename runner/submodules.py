"""Submodules of the job's commit: fetched like the repository itself, from the configured repositories.

git's own ``submodule`` command is not used: it reads settings of the commit, and derives from a shell script
(docs/decisions/0203).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from runner.faults import CommitRefused, RunnerFault
from runner.merging import file_of
from runner.workspace import Git, addresses, plain_address
from tidegate.deploys.rules.job import Job

_FILE = ".gitmodules"
_GITLINK = b"160000"
#: Submodules of a commit, those in others included, and how deep they may be nested.
_MOST, _DEEPEST = 100, 5


def check_out_submodules(git: Git, job: Job) -> None:
    """Check out the submodules of the checked-out commit. Raise CommitRefused and RunnerFault."""
    known = _known(addresses(job))
    ahead, seen = [(git, 0)], 0
    while ahead:
        above, depth = ahead.pop()
        for path, commit, url in _submodules(above):
            seen += 1
            if seen > _MOST or depth == _DEEPEST:
                raise CommitRefused(
                    f"There are more than {_MOST} submodules, or they are nested deeper than {_DEEPEST} "
                    "levels. Use "
                    "fewer."
                )
            named = plain_address(_absolute(url, above.clone_url))
            address = known.get(named)
            if address is None:
                raise CommitRefused(
                    f"The submodule {path!a} is from {url[:200]!a}, which is not in clone.repositories of the default "
                    f"branch's tidegate.yaml. {_advice(job, named)}"
                )
            ahead.append((_check_out(above, path, commit, address), depth + 1))


def _advice(job: Job, address: str) -> str:
    """Return what to do about an unlisted submodule: only repositories of the same owner can be listed."""
    if address.rpartition("/")[0] in _forms(job.clone_url.rpartition("/")[0]):
        return "Add the repository there, or remove the submodule."
    beside = job.repository.rpartition("/")[0]
    return f"The list may contain only repositories of {beside}: copy the repository there, or remove the submodule."


def with_files_of_submodules(changed: frozenset[str], top: Path) -> frozenset[str]:
    """Return changed paths with all files below directories among them: a submodule at another commit.

    With a changed ``.gitmodules`` each submodule may come from elsewhere.
    """
    moved = {top / path for path in changed}
    if _FILE in changed:
        moved |= {each.parent for each in top.rglob(".git") if each.parent != top}
    files = (file for place in moved if place.is_dir() and not place.is_symlink() for file in place.rglob("*"))
    return changed | {file.relative_to(top).as_posix() for file in files}


def _check_out(above: Git, path: str, commit: str, address: str) -> Git:
    place = above.directory / path
    place.rmdir()  # git makes it, empty.
    git = replace(above, directory=place, clone_url=address)
    git.begin(commit)
    try:
        git.fetch(commit)
    except RunnerFault as fault:
        git.fetch("HEAD")  # If that works, neither the VCS provider nor the network failed.
        raise CommitRefused(
            f"The submodule {path!a} is at the commit {commit}, which its repository does not contain. Push that "
            "commit there, or update the submodule."
        ) from fault
    git.do("checkout", "--quiet", "--force", "--detach", commit)
    return git


def _submodules(git: Git) -> Iterator[tuple[str, str, str]]:
    """Yield path, commit and URL of each submodule of a commit that is in place."""
    entries = git.ask("ls-tree", "-r", "-z", "HEAD")[1].split(b"\0")
    links = [entry for entry in entries if entry.startswith(_GITLINK)]
    if not links:
        return
    urls = _urls(git)
    for link in links:
        words, _, name = link.partition(b"\t")
        path = os.fsdecode(name)
        if path not in urls:
            raise CommitRefused(f"{_FILE} has no path and URL for the submodule {path!a}. Add them, or remove it.")
        yield path, words.split()[2].decode("ascii"), urls[path]


def _urls(git: Git) -> Mapping[str, str]:
    """Return the URLs of submodules by their paths."""
    if not file_of(git, "HEAD", _FILE):
        return {}
    wanted = r"^submodule\..*\.(path|url)$"
    output = git.ask("config", "-z", "--blob", f"HEAD:{_FILE}", "--get-regexp", wanted, no=1)[1]
    said: dict[str, dict[str, str]] = {}
    for item in output.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = item.partition("\n")
        name, _, kind = key.rpartition(".")
        said.setdefault(name, {})[kind] = value
    return {each["path"]: each["url"] for each in said.values() if {"path", "url"} <= each.keys()}


def _absolute(url: str, above: str) -> str:
    """Return an absolute URL unchanged, and a relative one resolved against its repository's URL."""
    if not url.startswith(("./", "../")):
        return url
    parts = urlsplit(above)
    return parts._replace(path=posixpath.normpath(posixpath.join(parts.path, url))).geturl()


def _known(urls: Sequence[str]) -> Mapping[str, str]:
    """Return the addresses of repositories by all forms in which they may be written."""
    return {plain_address(form): url for url in urls for form in _forms(url)}


def _forms(url: str) -> tuple[str, ...]:
    """Return an address over HTTPS, and the two over SSH that mean the same."""
    parts = urlsplit(url)
    path = parts.path.lstrip("/")
    return url, f"ssh://git@{parts.hostname}/{path}", f"git@{parts.hostname}:{path}"

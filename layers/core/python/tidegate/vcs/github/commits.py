"""Commits and branches on GitHub."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from github import GithubException
from github.Repository import Repository

from tidegate.ports import Change
from tidegate.roots.rules.root import commit_sha
from tidegate.rules.errors import ForgeRefused, NotFound, RepositoriesUnreadable
from tidegate.vcs.github.access import NOT_FOUND, READ_CONTENTS, READ_METADATA, UNPROCESSABLE, GitHubAccess
from tidegate.vcs.rules.authors import UNKNOWN, Authors, co_authors, nobody_at, private_login
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.headline import Headline, headline_of

#: Seconds for which a clone token is valid at least: an engine may fetch modules late in its init.
CLONE_MARGIN = 1800
#: Commits of a change whose authors are read: this many pages of GitHub's maximum size.
_COMMITS_PER_PAGE, _PAGES = 100, 10

#: The comparison's status if both sides have commits of their own.
_DIVERGED = "diverged"

#: The committer of edits and merges on GitHub's pages.
_ITSELF = "web-flow"

_Json = Mapping[str, Any]


class GitHubCommits:
    """The ports ``Commits`` and ``CloneTokens``."""

    _access: GitHubAccess

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        def call(repo: Repository) -> Comparison:
            try:
                return Comparison(repo.compare(base, head, comparison_commits_per_page=1).status)
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
            return Comparison.BASE_MISSING if _has_commit(repo, head) else Comparison.HEAD_MISSING

        return self._access.call(repository, READ_CONTENTS, call)

    def change(self, repository: str, base: str, head: str) -> Change:
        def call(repo: Repository) -> Change:
            try:
                first, commits = _compared(repo, base, head)
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                raise NotFound("common commit of", f"{base} and {head}") from None
            authors, committers = _people(commits, first["total_commits"])
            after = commit_sha(first["merge_base_commit"]["sha"])
            forks_once = first["status"] != _DIVERGED or _forks_once(first, commits)
            every = (
                tuple(commit_sha(each["sha"]) for each in commits) if len(commits) >= first["total_commits"] else None
            )
            return Change(after, authors, committers, forks_once, every)

        return self._access.call(repository, READ_CONTENTS, call)

    def authors(self, repository: str, head: str) -> Authors:
        def call(repo: Repository) -> Authors:
            try:
                commits = _history(repo, head)
            except GithubException as error:
                if error.status not in {NOT_FOUND, UNPROCESSABLE}:
                    raise
                raise NotFound("commit", head) from None
            return UNKNOWN if commits is None else _people(commits, len(commits))[0]

        return self._access.call(repository, READ_CONTENTS, call)

    def headline(self, repository: str, sha: str) -> Headline:
        def call(repo: Repository) -> Headline:
            try:
                # Its changed files come in pages; none of them is needed.
                _, found = repo.requester.requestJsonAndCheck("GET", f"{repo.url}/commits/{quote(sha)}?per_page=1")
            except GithubException as error:
                if error.status not in {NOT_FOUND, UNPROCESSABLE}:
                    raise
                raise NotFound("commit", sha) from None
            author = found.get("author") or {}
            name = author.get("login") or (found["commit"].get("author") or {}).get("name") or ""
            return headline_of(found["commit"]["message"], str(name), str(author.get("avatar_url") or ""))

        return self._access.call(repository, READ_CONTENTS, call)

    def branch_head(self, repository: str, branch: str) -> str:
        path = f"/commits/{quote(f'heads/{branch}', safe='')}?per_page=1"

        def call(repo: Repository) -> str:
            try:
                _, answer = repo.requester.requestJsonAndCheck("GET", repo.url + path)
            except GithubException as error:
                if error.status not in {NOT_FOUND, UNPROCESSABLE}:
                    raise
                raise NotFound("branch", branch) from None
            return str(answer["sha"])

        return commit_sha(self._access.call(repository, READ_CONTENTS, call))

    def default_branch(self, repository: str) -> str:
        return self._access.call(repository, READ_METADATA, lambda repo: repo.default_branch)

    def clone_token(self, repository: str, others: Collection[str] = ()) -> str:
        try:
            return self._access.token(repository, READ_CONTENTS, CLONE_MARGIN, others)
        except ForgeRefused as refusal:
            if not others or refusal.status != UNPROCESSABLE:
                raise
            raise RepositoriesUnreadable(tuple(sorted(others)), refusal) from refusal


def _compared(repo: Repository, base: str, head: str) -> tuple[_Json, Sequence[_Json]]:
    """Return the first page of a comparison, and the commits of all pages that are read."""
    path = f"{repo.url}/compare/{quote(base)}...{quote(head)}?per_page={_COMMITS_PER_PAGE}"
    _, first = repo.requester.requestJsonAndCheck("GET", path)
    commits = list(first["commits"])
    for page in range(2, _PAGES + 1):
        if len(commits) >= first["total_commits"]:
            break
        _, more = repo.requester.requestJsonAndCheck("GET", f"{path}&page={page}")
        commits += more["commits"]
    return first, commits


def _history(repo: Repository, head: str) -> Sequence[_Json] | None:
    """Return a commit and its ancestors, None if there are too many."""
    commits: list[_Json] = []
    for page in range(1, _PAGES + 1):
        path = f"{repo.url}/commits?sha={quote(head)}&per_page={_COMMITS_PER_PAGE}&page={page}"
        _, some = repo.requester.requestJsonAndCheck("GET", path)
        commits += some
        if len(some) < _COMMITS_PER_PAGE:
            return commits
    return None


def _people(commits: Sequence[_Json], total: int) -> tuple[Authors, Authors]:
    """Return the authors and committers, as far as GitHub knows their email addresses."""
    known = {
        str(commit["commit"][role]["email"]).lower(): str(commit[role]["login"])
        for commit in commits
        for role in ("author", "committer")
        if commit.get(role)
    }
    authors = committers = Authors(known=len(commits) >= total)
    for commit in commits:
        authors = authors.and_also(_whoever(commit, "author"))
        for each in co_authors(commit["commit"]["message"]):
            login = known.get(each) or private_login(each, "+", alone=True)
            authors = authors.and_also(Authors((login,)) if login else nobody_at(each, commit["sha"]))
        if not _is_by_github(commit):
            committers = committers.and_also(_whoever(commit, "committer"))
    return authors, committers


def _login(commit: _Json, role: str) -> str:
    return str((commit.get(role) or {}).get("login") or "")


def _whoever(commit: _Json, role: str) -> Authors:
    login = _login(commit, role)
    return (
        Authors((login,))
        if login
        else nobody_at(str((commit["commit"].get(role) or {}).get("email") or ""), commit["sha"])
    )


def _is_by_github(commit: _Json) -> bool:
    """Tell whether GitHub committed a change made on its pages. Anybody may write its address, but it signs its
    commits.
    """
    return _login(commit, "committer") == _ITSELF and commit["commit"]["verification"]["verified"] is True


def _forks_once(compared: _Json, commits: Sequence[_Json]) -> bool:
    """Tell whether these are all commits, with one fork point: each has another of them, or that one, as its parent."""
    made = {commit["sha"] for commit in commits}
    before = {parent["sha"] for commit in commits for parent in commit["parents"]} - made
    return len(commits) >= compared["total_commits"] and before == {compared["merge_base_commit"]["sha"]}


def _has_commit(repo: Repository, sha: str) -> bool:
    """Tell whether a commit exists. GitHub answers 422 for an unknown SHA, others 404."""
    try:
        repo.get_commit(sha).complete()
    except GithubException as error:
        if error.status in {NOT_FOUND, UNPROCESSABLE}:
            return False
        raise
    return True

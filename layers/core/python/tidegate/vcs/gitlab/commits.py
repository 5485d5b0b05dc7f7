"""Commits and branches on GitLab."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any
from urllib.parse import quote

from tidegate.ports import Change
from tidegate.roots.rules.root import commit_sha
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.gitlab.access import BAD_REQUEST, NOT_FOUND, GitLabAccess, project
from tidegate.vcs.rules.authors import UNKNOWN, Authors, co_authors, nobody_at, private_login
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.headline import Headline, headline_of

#: Commits of a change, and email addresses in them, whose users are looked up at most.
MAXIMUM_COMMITS, MAXIMUM_ADDRESSES = 1000, 10


class GitLabCommits:
    """The ports ``Commits`` and ``CloneTokens``."""

    _access: GitLabAccess

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        old, new = self._resolved(repository, base), self._resolved(repository, head)
        if old is None or new is None:
            return Comparison.BASE_MISSING if old is None else Comparison.HEAD_MISSING
        if old == new:
            return Comparison.IDENTICAL
        common = self.merge_base(repository, old, new)
        return {old: Comparison.AHEAD, new: Comparison.BEHIND}.get(common or "", Comparison.DIVERGED)

    def change(self, repository: str, base: str, head: str) -> Change:
        common = self.merge_base(repository, base, head)
        if common is None:
            raise NotFound("common commit of", f"{base} and {head}")
        path = f"{project(repository)}/repository/compare"
        found = self._access.call("GET", path, {"from": common, "to": head})
        commits = found["commits"]
        every = tuple(commit_sha(each["id"]) for each in commits) if len(commits) < MAXIMUM_COMMITS else None
        return Change(commit_sha(common), *self._people(commits), forks_once=common in {base, head}, commits=every)

    def authors(self, repository: str, head: str) -> Authors:
        every = self._access.pages(f"{project(repository)}/repository/commits", ref_name=head)
        try:
            commits = [*islice(every, MAXIMUM_COMMITS)]
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise
            commits = []
        if not commits or commits[0]["id"] != head:
            raise NotFound("commit", head)
        return self._people(commits)[0]

    def headline(self, repository: str, sha: str) -> Headline:
        found = self._access.find(f"{project(repository)}/repository/commits/{quote(sha, safe='')}")
        if found is None:
            raise NotFound("commit", sha)
        login = private_login(str(found.get("author_email") or ""), "-")
        return headline_of(str(found.get("message") or found["title"]), login or str(found.get("author_name") or ""))

    def branch_head(self, repository: str, branch: str) -> str:
        found = self._access.find(f"{project(repository)}/repository/branches/{quote(branch, safe='')}")
        if found is None:
            raise NotFound("branch", branch)
        return commit_sha(found["commit"]["id"])

    def default_branch(self, repository: str) -> str:
        return str(self._access.call("GET", project(repository))["default_branch"])

    def clone_token(self, repository: str, others: Collection[str] = ()) -> str:
        return self._access.credentials().clone_token

    def _resolved(self, repository: str, commit: str) -> str | None:
        """Return the SHA of a commit or a branch's head; None if there is none."""
        found = self._access.find(f"{project(repository)}/repository/commits/{quote(commit, safe='')}")
        return None if found is None else commit_sha(found["id"])

    def merge_base(self, repository: str, base: str, head: str) -> str | None:
        """Return the merge base. GitLab answers 400 for an unknown commit."""
        try:
            path = f"{project(repository)}/repository/merge_base"
            return str(self._access.call("GET", path, {"refs[]": [base, head]})["id"])
        except ForgeRefused as error:
            if error.status in {BAD_REQUEST, NOT_FOUND}:
                return None
            raise

    def _people(self, commits: list[Any]) -> tuple[Authors, Authors]:
        """Return the authors and committers, as far as GitLab knows their email addresses."""
        authors, committers = (_addresses(role, commits) for role in ("author", "committer"))
        authors |= {each: str(it["id"]) for it in commits for each in co_authors(str(it.get("message") or ""))}
        if len(commits) >= MAXIMUM_COMMITS or len(authors | committers) > MAXIMUM_ADDRESSES:
            return UNKNOWN, UNKNOWN
        known = {address: self._author(address, sha) for address, sha in sorted((committers | authors).items())}
        made, committed = (_together(known[each] for each in sorted(which)) for which in (authors, committers))
        return made, committed

    def _author(self, address: str, sha: str) -> Authors:
        private = private_login(address, "-")
        if private:
            return Authors((private,))
        found = self._access.call("GET", "/users", {"search": address})
        return Authors((found[0]["username"],)) if len(found) == 1 else nobody_at(address, sha)


def _addresses(role: str, commits: Iterable[Any]) -> dict[str, str]:
    """Return the addresses of those who have a role, each with a commit that has it."""
    return {str(it[f"{role}_email"]).lower(): str(it["id"]) for it in commits if it.get(f"{role}_email")}


def _together(every: Iterable[Authors]) -> Authors:
    found = Authors()
    for authors in every:
        found = found.and_also(authors)
    return found

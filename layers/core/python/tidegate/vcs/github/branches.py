"""Branches, files and checks of config repositories on GitHub."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from github.Repository import Repository

from tidegate.ports import Moved
from tidegate.roots.rules.root import commit_sha
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.rules.timestamp import timestamp_from
from tidegate.vcs.github.access import NOT_FOUND, READ_CONTENTS
from tidegate.vcs.github.commits import CLONE_MARGIN, GitHubCommits
from tidegate.vcs.github.graphql import ask
from tidegate.vcs.rules.branch_moves import FORWARD, only_forward
from tidegate.vcs.rules.check_report import CheckReport, Source

#: Commits in one query: of each, as many reports as a page of GitHub has at most.
COMMITS_PER_QUERY = 50
#: The App of GitHub Actions. Its check runs are jobs, with the same numbers.
ACTIONS = "github-actions"

_READ_CHECKS = {"checks": "read", "contents": "read", "metadata": "read", "statuses": "read"}
_WRITE_CHECKS = {"checks": "write", "metadata": "read"}
_WRITE_ACTIONS = {"actions": "write", "metadata": "read"}
_WRITE_CONTENTS = {"contents": "write", "metadata": "read"}
_HEADS = "refs/heads/"
_BOT, _RUN = "Bot", "CheckRun"
#: Modes of plain files in trees; others are of directories, symbolic links and submodules.
_PLAIN = frozenset({0o100644, 0o100755, 0o100664})

_REPORTED = """
fragment Reported on StatusCheckRollupContextConnection {
  nodes {
    __typename
    ... on CheckRun { databaseId name status conclusion startedAt checkSuite { app { slug } } }
    ... on StatusContext { context state createdAt creator { __typename login } }
  }
  pageInfo { hasNextPage endCursor }
}
"""
_FILE = """
query FileContent($owner: String!, $name: String!, $commit: GitObjectID!, $path: String!) {
  repository(owner: $owner, name: $name) {
    object(oid: $commit) { ... on Commit { file(path: $path) { mode object { oid ... on Blob { text } } } } }
  }
}
"""
_PLACE = """
query BranchPlace($owner: String!, $name: String!, $ref: String!) {
  repository(owner: $owner, name: $name) {
    id
    defaultBranchRef { name }
    ref(qualifiedName: $ref) { target { oid } }
  }
}
"""
_MOVE = """
mutation MoveBranch(
  $repository: ID!, $ref: GitRefname!, $old: GitObjectID!, $new: GitObjectID!, $force: Boolean!
) {
  updateRefs(
    input: {repositoryId: $repository, refUpdates: [{name: $ref, beforeOid: $old, afterOid: $new, force: $force}]}
  ) { clientMutationId }
}
"""

_Json = Mapping[str, Any]


class GitHubBranches(GitHubCommits):
    """The port ``ConfigBranches``, and moves of branches to commits that GitHub has."""

    def branch_heads(self, repository: str, branches: Sequence[str]) -> Mapping[str, str]:
        asked = {f"b{number}": branch for number, branch in enumerate(branches)}
        parts = " ".join(f"{each}: ref(qualifiedName: ${each}) {{ target {{ oid }} }}" for each in asked)
        query = _query("BranchHeads", dict.fromkeys(asked, "String!"), parts)
        values = {each: f"{_HEADS}{branch}" for each, branch in asked.items()}
        found = self._repository(repository, query, values, READ_CONTENTS) if asked else {}
        return {branch: _head(found[each]) for each, branch in asked.items() if found[each]}

    def check_reports(
        self, repository: str, branch: str, commits: Sequence[str]
    ) -> Mapping[str, Sequence[CheckReport]]:
        """Return the reports of each commit, in one query for 50 of them, and more where one has over 100 reports.

        They are those of the commit's rollup (``StatusCheckRollup.contexts``,
        https://docs.github.com/graphql/reference/checks). It has the newest status of each context. It may have several
        check runs of a name: GitHub's own command keeps the newest of them (``eliminateDuplicates`` in cli/cli,
        pkg/cmd/pr/checks/aggregate.go), as does ``judge_commit``, by their numbers.
        """
        found: dict[str, list[CheckReport]] = {each: [] for each in commits}
        pages: dict[str, str | None] = dict.fromkeys(found)
        while pages:
            some = list(pages.items())[:COMMITS_PER_QUERY]
            for (commit, _), contexts in zip(some, self._contexts(repository, some), strict=True):
                found[commit] += map(_report, contexts.get("nodes", ()))
                page = contexts.get("pageInfo", {})
                pages[commit] = page["endCursor"] if page.get("hasNextPage") else None
                if pages[commit] is None:
                    del pages[commit]
        return found

    def _contexts(self, repository: str, pages: Sequence[tuple[str, str | None]]) -> Iterable[_Json]:
        """Return a page of the reports of each of these commits; nothing for one without any."""
        values: dict[str, Any] = {}
        types: dict[str, str] = {}
        parts = []
        for number, (commit, after) in enumerate(pages):
            c, a = f"c{number}", f"a{number}"
            values |= {c: commit, a: after}
            types |= {c: "GitObjectID!", a: "String"}
            contexts = f"contexts(first: 100, after: ${a}) {{ ...Reported }}"
            parts.append(f"{c}: object(oid: ${c}) {{ ... on Commit {{ statusCheckRollup {{ {contexts} }} }} }}")
        query = _query("CheckReports", types, " ".join(parts)) + _REPORTED
        found = self._repository(repository, query, values, _READ_CHECKS)
        rollups = ((found[f"c{number}"] or {}).get("statusCheckRollup") for number in range(len(pages)))
        return [(each or {}).get("contexts", {}) for each in rollups]

    def file_content(self, repository: str, commit: str, path: str) -> bytes | None:
        """Return a plain file.

        REST's contents follow symbolic links. The text of GraphQL counts only if it has the file's object id: it lacks
        what is not UTF-8, and the end of large files, which are then read by their id.
        """
        try:
            found = self._repository(repository, _FILE, {"commit": commit, "path": path}, READ_CONTENTS)
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise
            return None
        entry = (found["object"] or {}).get("file")
        if not entry or entry["mode"] not in _PLAIN:
            return None
        blob = entry["object"]
        content = str(blob["text"] or "").encode()
        return content if _has_id(content, blob["oid"]) else self._blob(repository, blob["oid"])

    def _blob(self, repository: str, oid: str) -> bytes:
        def call(repo: Repository) -> bytes:
            _, answer = repo.requester.requestJsonAndCheck("GET", f"{repo.url}/git/blobs/{oid}")
            return base64.b64decode(answer["content"])

        return self._access.call(repository, READ_CONTENTS, call)

    def request_check(self, repository: str, report: CheckReport) -> bool:
        """Request a check run again.

        GitHub takes that only from the App that made it: 403 "Forbidden if the check run is not rerequestable or
        doesn't belong to the authenticated GitHub App" (https://docs.github.com/rest/checks/runs). A job of GitHub
        Actions is run again instead, if our App has the permission *Actions: write*. A status cannot be requested.
        """
        if report.source is not Source.CHECK_RUN:
            return False
        is_job = report.app == ACTIONS
        path = f"actions/jobs/{report.number}/rerun" if is_job else f"check-runs/{report.number}/rerequest"

        def call(repo: Repository) -> None:
            repo.requester.requestJsonAndCheck("POST", f"{repo.url}/{path}")

        try:
            self._access.call(repository, _WRITE_ACTIONS if is_job else _WRITE_CHECKS, call)
        except ForgeRefused:
            return False
        return True

    def write_token(self, repository: str) -> str:
        return self._access.token(repository, _WRITE_CONTENTS, CLONE_MARGIN)

    def move_branch(self, repository: str, branch: str, old: str, new: str) -> Moved:
        """Move a branch to a commit that GitHub has, as ``BranchMover.move`` says.

        ``updateRefs`` moves it only from ``beforeOid``, and only forward unless ``force`` is given, which the default
        branch never gets (https://docs.github.com/graphql/reference/git).
        """
        place = self._repository(repository, _PLACE, {"ref": f"{_HEADS}{branch}"}, READ_CONTENTS)
        at = _head(place["ref"])
        if at == new or at != old:
            return Moved(done=at == new, at=at)
        is_default = (place["defaultBranchRef"] or {}).get("name") == branch
        if is_default and not (old and self.compare(repository, old, new) in FORWARD):
            return Moved(done=False, at=at, reason=only_forward(branch, new))
        values = {"repository": place["id"], "ref": f"{_HEADS}{branch}", "old": old or "0" * len(new), "new": new}
        try:
            self._ask(repository, _MOVE, {**values, "force": not is_default}, _WRITE_CONTENTS)
        except (ForgeRefused, ForgeUnavailable) as error:
            return self._after_error(repository, branch, old, new, error)
        return Moved(done=True, at=new)

    def _after_error(
        self, repository: str, branch: str, old: str, new: str, error: ForgeRefused | ForgeUnavailable
    ) -> Moved:
        """Return where the branch is: GitHub may have moved it before its answer was lost."""
        at = self.branch_heads(repository, [branch]).get(branch, "")
        if at != old:
            return Moved(done=at == new, at=at)
        if isinstance(error, ForgeUnavailable):
            raise error
        return Moved(done=False, at=at, reason=error.problem)

    def _repository(
        self, repository: str, query: str, values: Mapping[str, Any], permissions: Mapping[str, str]
    ) -> _Json:
        owner, _, name = repository.partition("/")
        found = self._ask(repository, query, {"owner": owner, "name": name, **values}, permissions)["repository"]
        if found is None:
            raise ForgeRefused(NOT_FOUND, f"There is no repository {repository}.")
        answer: _Json = found
        return answer

    def _ask(self, repository: str, query: str, values: Mapping[str, Any], permissions: Mapping[str, str]) -> _Json:
        return self._access.call(repository, permissions, lambda repo: ask(repo, query, values))


def _query(name: str, types: Mapping[str, str], parts: str) -> str:
    """Return a query for parts of a repository, with a variable of each of these types."""
    variables = ", ".join(f"${each}: {kind}" for each, kind in types.items())
    return (
        f"query {name}($owner: String!, $name: String!, {variables}) "
        f"{{ repository(owner: $owner, name: $name) {{ {parts} }} }}"
    )


def _head(ref: _Json | None) -> str:
    return commit_sha(ref["target"]["oid"]) if ref else ""


def _report(node: _Json) -> CheckReport:
    """Return a report in the words of the REST API."""
    if node["__typename"] == _RUN:
        app = (node["checkSuite"]["app"] or {}).get("slug", "")
        result = str(node["conclusion"] or node["status"]).lower()
        started = timestamp_from(node["startedAt"]) if node["startedAt"] else None
        return CheckReport(Source.CHECK_RUN, node["name"], app, result, int(node["databaseId"]), started)
    at = timestamp_from(node["createdAt"])
    # A context's newest status is the only one here, so its time tells it from one before.
    number = int(at.timestamp() * 1_000_000)
    return CheckReport(Source.STATUS, node["context"], _setter(node["creator"]), str(node["state"]).lower(), number, at)


def _setter(creator: _Json | None) -> str:
    """Return the App that set a status, or ``@`` and a user's login. GraphQL's login of a bot is its App's name."""
    if creator is None:
        return ""
    login = str(creator["login"]).removesuffix("[bot]").lower()
    return login if creator["__typename"] == _BOT else f"@{login}"


def _has_id(content: bytes, oid: str) -> bool:
    """Tell whether this is the content of git's object."""
    algorithm = "sha1" if len(oid) == 40 else "sha256"  # noqa: PLR2004  # Hexadecimal digits of SHA-1.
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == oid

"""GraphQL: the part of GitHub's schema in schema.graphql, which any query of its fields may ask for."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import graphql
from graphql import GraphQLError, GraphQLResolveInfo
from werkzeug.wrappers import Request, Response

from tidegate_local.forge import checks, protections, pushes
from tidegate_local.forge.git import NO_COMMIT, GitRefused
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.identity import Caller
from tidegate_local.forge.records import CheckRun, CommitStatus, Repository
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.routing import answer
from tidegate_local.forge.shapes import Json

PATH = "/api/graphql"
LARGEST_PAGE = 100
_OPERATION = re.compile(r"\b(?:query|mutation)\s+(\w+)")


@cache
def _schema() -> graphql.GraphQLSchema:
    return graphql.build_schema(Path(__file__).with_name("schema.graphql").read_text(encoding="utf-8"))


def respond(hosting: Hosting, request: Request) -> Response:
    """Answer a call, errors in its fields included. Raise Refusal (401) without credentials that hold."""
    caller = hosting.identities.caller(request)
    if caller is None or caller.kind == "app":
        raise Refusal(401, "This endpoint requires you to be authenticated.")
    body = request.get_json()
    root = _Root(hosting, caller)
    done = graphql.graphql_sync(_schema(), body["query"], root, variable_values=body.get("variables"))
    errors = [{**(each.extensions or {}), "message": each.message, "path": each.path} for each in done.errors or ()]
    return answer({"data": done.data, **({"errors": errors} if errors else {})})


def operation_of(request: Request) -> str:
    """Return the name of the operation that a call asks for; "" for one without a name."""
    body = request.get_json(silent=True)
    named = _OPERATION.search(str(body.get("query"))) if isinstance(body, dict) else None
    return named[1] if named else ""


def _refused(kind: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": kind})


class _Root:
    """The fields of queries and mutations, for a caller."""

    def __init__(self, hosting: Hosting, caller: Caller) -> None:
        self._hosting, self._caller = hosting, caller

    def repository(self, _info: GraphQLResolveInfo[Any], owner: str, name: str, **_: Any) -> Json:
        found = self._hosting.repository(f"{owner}/{name}")
        there = None if found is None else self._hosting.identities.at(self._caller, found)
        if found is None or there is None:
            raise _refused("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return _Repository(self._hosting, found, there).shape()

    def updateRefs(self, _info: GraphQLResolveInfo[Any], input: Json) -> Json:  # noqa: A002, N802 - GitHub's names
        found = self._hosting.repository_of_node(input["repositoryId"])
        there = None if found is None else self._hosting.identities.at(self._caller, found)
        if found is None or there is None:
            raise _refused("NOT_FOUND", "Could not resolve to a node with the global id.")
        if not there.may("contents:write"):
            raise _refused("FORBIDDEN", "Resource not accessible by integration")
        with self._hosting.writing(found):
            git = self._hosting.git(found)
            before = git.refs()
            for update in input["refUpdates"]:
                _check(self._hosting, found, before, update)
            lines = [_line(before, update) for update in input["refUpdates"]]
            git.run("update-ref", "--stdin", stdin="\n".join(["start", *lines, "commit", ""]).encode())
            pushes.changed(self._hosting, found, before, git.refs(), there.login)
        return {"clientMutationId": input.get("clientMutationId")}


def _line(refs: dict[str, str], update: Json) -> str:
    return f"update {update['name']} {update['afterOid']} {refs.get(update['name'], NO_COMMIT)}"


def _check(hosting: Hosting, repository: Repository, refs: dict[str, str], update: Json) -> None:
    """Refuse a move that GitHub refuses."""
    name, old, new = update["name"], refs.get(update["name"], NO_COMMIT), update["afterOid"]
    git = hosting.git(repository)
    if update.get("beforeOid", old) != old:
        raise _refused("UNPROCESSABLE", f"{name} is at {old}, and was expected at {update['beforeOid']}.")
    if protections.is_locked(hosting, repository, name):
        raise _refused("UNPROCESSABLE", protections.LOCKED)
    try:
        git.run("cat-file", "-e", f"{new}^{{commit}}")
    except GitRefused:
        raise _refused("UNPROCESSABLE", f"There is no commit {new}.") from None
    if old != NO_COMMIT and not update["force"] and not git.is_ancestor(old, new):
        raise _refused("UNPROCESSABLE", "Update is not a fast forward")


class _Repository:
    """The fields of a repository, as far as its caller may read them."""

    def __init__(self, hosting: Hosting, repository: Repository, caller: Caller) -> None:
        self._hosting, self._repository, self._caller = hosting, repository, caller
        self._git = hosting.git(repository)

    def shape(self) -> Json:
        return {
            "id": self._hosting.node_id(self._repository),
            "defaultBranchRef": self._ref(f"refs/heads/{self._repository.default_branch}"),
            "ref": lambda _info, qualifiedName: self._ref(qualifiedName),  # noqa: N803 - GitHub's name
            "object": lambda _info, oid=None, **_: self._object(oid),
        }

    def _needs(self, permission: str) -> None:
        if not self._caller.may(permission):
            raise _refused("FORBIDDEN", "Resource not accessible by integration")

    def _ref(self, name: str) -> Json | None:
        self._needs("contents:read")
        sha = self._git.refs().get(name)
        return {"name": name.rpartition("/")[2], "target": self._object(sha)} if sha else None

    def _object(self, oid: str | None) -> Json | None:
        self._needs("contents:read")
        try:
            sha = self._git.resolve(oid) if oid else None
        except GitRefused:
            sha = None
        if sha is None or sha != oid:
            return None
        return {
            "__typename": "Commit",
            "oid": sha,
            "file": lambda _info, path: self._file(sha, path),
            "statusCheckRollup": lambda _info: self._rollup(sha),
        }

    def _file(self, sha: str, path: str) -> Json | None:
        entry = self._git.run("ls-tree", "-z", sha, "--", path.strip("/")).partition("\0")[0]
        words, _, found = entry.partition("\t")
        if found != path:
            return None
        mode, kind, oid = words.split()
        there = {"__typename": kind.capitalize(), "oid": oid, "text": lambda _info: self._text(oid)}
        return {"mode": int(mode, 8), "object": None if kind == "commit" else there}

    def _text(self, oid: str) -> str | None:
        content = self._git.run_bytes("cat-file", "blob", oid)
        return None if b"\0" in content else content[:512_000].decode("utf-8", "replace")

    def _rollup(self, sha: str) -> Json | None:
        """Return the newest check runs of each name, and the newest status of each context."""
        for permission in ("checks:read", "statuses:read"):
            self._needs(permission)
        name = self._repository.repository
        statuses = {one.context: one for one in self._hosting.store.find(CommitStatus, name, sha=sha)}
        runs = checks.latest(checks.runs_of(self._hosting, self._repository, sha))
        nodes = [*(self._run(run) for run in runs), *(self._status(one) for one in statuses.values())]
        pages = {"contexts": lambda _info, first=LARGEST_PAGE, after=None, **_: _page(nodes, first, after)}
        return pages if nodes else None

    def _run(self, run: CheckRun) -> Json:
        return {
            "__typename": "CheckRun",
            "databaseId": run.id,
            "name": run.name,
            "status": run.status.upper(),
            "conclusion": run.conclusion and run.conclusion.upper(),
            "startedAt": run.started_at,
            "checkSuite": {"app": {"slug": run.app or self._hosting.settings.app_slug}},
        }

    def _status(self, one: CommitStatus) -> Json:
        kind = self._hosting.identities.account(one.creator).type
        creator = {"__typename": "Bot" if kind == "Bot" else "User", "login": one.creator.removesuffix("[bot]")}
        known = {"context": one.context, "state": one.state.upper(), "createdAt": one.created_at}
        return {"__typename": "StatusContext", **known, "creator": creator}


def _page(nodes: list[Json], first: int, after: str | None) -> Json:
    if not 0 < first <= LARGEST_PAGE:
        raise _refused("EXCESSIVE_PAGINATION", f"Requesting {first} records exceeds the `first` limit of 100 records.")
    begin = int(after or 0)
    end = begin + first
    return {"nodes": nodes[begin:end], "pageInfo": {"hasNextPage": end < len(nodes), "endCursor": str(end)}}

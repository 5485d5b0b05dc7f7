"""Extract from GitHub's public GraphQL schema the types that the local forge answers with.

Usage: python extract_graphql.py SCHEMA; README.md says how to get it. Writes tidegate_local/forge/schema.graphql: of
each type in USED these fields, without prose.
"""

from __future__ import annotations

import sys
from pathlib import Path

import graphql
from graphql.language import ast

FILE = Path(__file__).parents[3] / "tidegate_local/forge/schema.graphql"
HEADER = "# A part of GitHub's GraphQL schema (octokit/graphql-schema, MIT): tests/data/github/extract_graphql.py\n\n"
#: Fields by type; all values of enumerations and unions belong to them.
USED: dict[str, tuple[str, ...]] = {
    "Query": ("repository",),
    "Mutation": ("updateRefs",),
    "Actor": ("login",),
    "App": ("slug",),
    "Blob": ("oid", "text"),
    "Bot": ("login",),
    "CheckConclusionState": (),
    "CheckRun": ("checkSuite", "conclusion", "databaseId", "name", "startedAt", "status"),
    "CheckStatusState": (),
    "CheckSuite": ("app",),
    "Commit": ("file", "oid", "statusCheckRollup"),
    "DateTime": (),
    "GitObject": ("oid",),
    "GitObjectID": (),
    "GitRefname": (),
    "PageInfo": ("endCursor", "hasNextPage"),
    "Ref": ("name", "target"),
    "RefUpdate": ("afterOid", "beforeOid", "force", "name"),
    "Repository": ("defaultBranchRef", "id", "object", "ref"),
    "StatusCheckRollup": ("contexts",),
    "StatusCheckRollupContext": (),
    "StatusCheckRollupContextConnection": ("nodes", "pageInfo"),
    "StatusContext": ("context", "createdAt", "creator", "state"),
    "StatusState": (),
    "Tree": ("oid",),
    "TreeEntry": ("mode", "object"),
    "UpdateRefsInput": ("clientMutationId", "refUpdates", "repositoryId"),
    "UpdateRefsPayload": ("clientMutationId",),
    "User": ("login",),
}


def excerpt(schema: str) -> str:
    """Return the types in USED."""
    kept = [_kept(each) for each in graphql.parse(schema).definitions if _name(each) in USED]
    return "\n\n".join(graphql.print_ast(each) for each in sorted(kept, key=_name)) + "\n"


def _name(node: ast.Node) -> str:
    return str(node.name.value) if isinstance(node, ast.TypeDefinitionNode) else ""


def _kept(node: ast.Node) -> ast.Node:
    changes: dict[str, object] = {"description": None, "directives": ()}
    wanted = USED[_name(node)]
    for part in ("fields", "values"):
        if every := getattr(node, part, None):
            changes[part] = tuple(_bare(each) for each in every if not wanted or each.name.value in wanted)
    if getattr(node, "interfaces", None):
        changes["interfaces"] = tuple(each for each in node.interfaces if each.name.value in USED)
    return _with(node, changes)


def _bare(node: ast.Node) -> ast.Node:
    arguments = {"arguments": tuple(map(_bare, node.arguments))} if getattr(node, "arguments", None) else {}
    return _with(node, {"description": None, "directives": (), **arguments})


def _with(node: ast.Node, changes: dict[str, object]) -> ast.Node:
    return type(node)(**{name: changes.get(name, getattr(node, name, None)) for name in node.keys})


def main() -> None:
    FILE.write_text(HEADER + excerpt(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

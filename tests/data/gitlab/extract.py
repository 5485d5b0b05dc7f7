"""Extract from the TypeScript types of a GitLab client what the tests of the local GitLab use, as JSON Schemas.

Usage: python extract.py PACKAGE (an unpacked npm package); README.md says how to get it. Writes schemas.json beside
this file: one definition for each name in ROOTS and for whatever they refer to.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Schema = dict[str, Any]
ROOTS = (
    "ApprovedByEntity",
    "AwardEmojiSchema",
    "BranchSchema",
    "CommitReferenceSchema",
    "CommitSchema",
    "CommitStatusSchema",
    "DeployTokenSchema",
    "EventSchema",
    "ExpandedCommitSchema",
    "ExpandedMergeRequestSchema",
    "GroupSchema",
    "IssueSchemaWithBasicLabels",
    "JobSchema",
    "MemberSchema",
    "MergeRequestDiffSchema",
    "MergeRequestDiffVersionsSchema",
    "MergeRequestLevelMergeRequestApprovalSchema",
    "MergeRequestNoteSchema",
    "MergeRequestSchema",
    "MetadataSchema",
    "NewDeployTokenSchema",
    "PersonalAccessTokenSchema",
    "PipelineSchema",
    "ProjectHookSchema",
    "ProjectLevelMergeRequestApprovalSchema",
    "ProjectSchema",
    "ProtectedBranchSchema",
    "RepositoryCompareSchema",
    "RepositoryTreeSchema",
    "UserSchema",
    "WebhookCommitNoteEventSchema",
    "WebhookDeploymentEventSchema",
    "WebhookFeatureFlagEventSchema",
    "WebhookGroupMemberEventSchema",
    "WebhookIssueEventSchema",
    "WebhookIssueNoteEventSchema",
    "WebhookJobEventSchema",
    "WebhookMergeRequestEventSchema",
    "WebhookMergeRequestNoteEventSchema",
    "WebhookPipelineEventSchema",
    "WebhookPushEventSchema",
    "WebhookReleaseEventSchema",
    "WebhookSnippetNoteEventSchema",
    "WebhookSubGroupEventSchema",
    "WebhookTagEventSchema",
    "WebhookWikiEventSchema",
)
_TOKEN = re.compile(r"'[^']*'|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*|\d+|\[\]|[{}()<>\[\]|&;:,?=.]")
_PLAIN: dict[str, Schema] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "unknown": {},
    "any": {},
    "void": {},
}


class Types:
    """The interfaces and type aliases of a declaration file, turned into schemas when they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.schemas: dict[str, Schema] = {}

    def want(self, name: str) -> None:
        """Define a name, and what it refers to."""
        if name in self.schemas:
            return
        self.schemas[name] = {}
        found = re.search(rf"^interface {name}\b([^{{]*)(\{{.*?^\}})", self._text, re.MULTILINE | re.DOTALL)
        alias = re.search(rf"^type {name} = (.*?);$", self._text, re.MULTILINE | re.DOTALL)
        if found:
            own = Reader(found[2], self).type()
            bases = [Reader(base, self).type() for base in _bases(found[1])]
            self.schemas[name] = _merged([*bases, own], self)
        elif alias:
            self.schemas[name] = Reader(alias[1], self).type()


def _bases(heading: str) -> list[str]:
    """Return what an interface extends."""
    text = heading.partition("extends")[2].strip()
    if not text or text.startswith("Record<"):
        return []
    return [text]


def _merged(parts: list[Schema], types: Types) -> Schema:
    whole: Schema = {"type": "object", "properties": {}, "required": []}
    for part in parts:
        flat = types.schemas[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        whole["properties"] |= flat.get("properties", {})
        whole["required"] = sorted({*whole["required"], *flat.get("required", [])})
    return whole


class Reader:
    """Reads one type expression."""

    def __init__(self, text: str, types: Types) -> None:
        self._tokens, self._types, self._place = _TOKEN.findall(text), types, 0

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _next(self) -> str:
        self._place += 1
        return str(self._tokens[self._place - 1])

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._place += 1
        return True

    def type(self) -> Schema:
        """Return the schema of a type, unions included."""
        self._take("|")
        parts = [self._one()]
        while self._take("|"):
            parts.append(self._one())
        if len(parts) == 1:
            return parts[0]
        if all("const" in part for part in parts):
            return {"enum": [part["const"] for part in parts]}
        return {"anyOf": parts}

    def _one(self) -> Schema:
        schema = self._bare()
        while self._take("[]"):
            schema = {"type": "array", "items": schema}
        while self._take("&"):
            schema = _merged([schema, self._bare()], self._types)
        return schema

    def _bare(self) -> Schema:
        token = self._next()
        if token == "{":
            return self._object()
        if token == "(":
            inside = self.type()
            self._take(")")
            return inside
        if token.startswith("'"):
            return {"const": token.strip("'")}
        if token in _PLAIN:
            return dict(_PLAIN[token])
        return self._named(token)

    def _object(self) -> Schema:
        properties: dict[str, Schema] = {}
        required = []
        while not self._take("}"):
            name = self._next().strip("'")
            optional = self._take("?")
            self._take(":")
            properties[name] = self.type()
            self._take(";")
            if not optional:
                required.append(name)
        return {"type": "object", "properties": properties, "required": sorted(required)}

    def _named(self, name: str) -> Schema:
        arguments: list[Schema] = []
        if self._take("<"):
            arguments.append(self.type())
            while self._take(","):
                arguments.append(self.type())
            self._take(">")
        if name in {"Pick", "MappedOmit", "Omit"}:
            return self._chosen(arguments[0], arguments[1], keep=name == "Pick")
        if name in {"Exclude", "AccessLevel"} or name.startswith("AccessLevel."):
            return {"type": "integer"}
        if name == "Record":
            return {"type": "object"}
        self._types.want(name)
        return {"$ref": f"#/$defs/{name}"}

    def _chosen(self, whole: Schema, names: Schema, *, keep: bool) -> Schema:
        flat = _merged([whole], self._types)
        listed = set(names.get("enum", [names.get("const")]))
        left = {name: one for name, one in flat["properties"].items() if (name in listed) == keep}
        return {"type": "object", "properties": left, "required": sorted({*flat["required"]} & {*left})}


def main(package: Path) -> None:
    """Write schemas.json."""
    types = Types((package / "dist/index.d.ts").read_text(encoding="utf-8"))
    for name in ROOTS:
        types.want(name)
    text = json.dumps({"$defs": types.schemas}, indent=1, sort_keys=True)
    (HERE / "schemas.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Render the state machines of stepfunctions/ for deployment: from YAML to Step Functions' JSON.

``shared.yaml`` beside a file is read first, so that its anchors are known. YAML's JSON schema applies: ``on``, ``0o17``
or ``2026-01-01`` are plain text (yaml.org/spec/1.2.2, 10.2).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

SHARED = "shared.yaml"
#: The suffix of state machines' file names.
ENDING = ".asl.yaml"
_NUMBER = r"-?(?:0|[1-9][0-9]*)"


class _Loader(yaml.SafeLoader):
    """Reads YAML with JSON's types, keeps anchors across documents, and refuses duplicate keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 as its class has it

    def compose_document(self) -> yaml.Node | None:
        anchors = self.anchors
        node = super().compose_document()
        self.anchors = anchors
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        names = [key.value for key, _ in node.value]
        if len(names) > len(set(names)):
            raise yaml.MarkedYAMLError("in a mapping", node.start_mark, "duplicate key", node.end_mark)
        return node


for _type, _first, _pattern in (
    ("bool", "tf", "true|false"),
    ("null", "n", "null"),
    ("int", "-0123456789", _NUMBER),
    ("float", "-0123456789", rf"{_NUMBER}\.[0-9]+"),
    ("merge", "<", "<<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_type}", re.compile(f"^(?:{_pattern})$"), list(_first))


def rendered(file: Path) -> str:
    """Return the JSON of a state machine's file. Raise YAMLError with the line that cannot be read."""
    with file.with_name(SHARED).open(encoding="utf-8") as text:
        shared = _Loader(text)
        shared.get_single_node()
    with file.open(encoding="utf-8") as text:
        loader = _Loader(text)
        loader.anchors = shared.anchors
        definition = loader.get_single_data()
    return json.dumps(definition, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

"""YAML as PyYAML's nodes with locations, on libyaml's parser: nothing is constructed, and depth is limited."""

from __future__ import annotations

import re
from typing import Any

from yaml.composer import Composer
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # Its stubs leave the name out.
from yaml.error import Mark, MarkedYAMLError, YAMLError
from yaml.events import AliasEvent, NodeEvent
from yaml.nodes import Node
from yaml.resolver import BaseResolver

_STANDARD = "tag:yaml.org,2002:"
NULL = f"{_STANDARD}null"
#: Allowed explicit tags. All scalars but null stay text.
PLAIN = frozenset(f"{_STANDARD}{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq"))


class NotYamlError(Exception):
    """Invalid YAML: why, and where if known (line and column, from 1)."""

    def __init__(self, problem: str, place: tuple[int, int] | None) -> None:
        super().__init__(problem)
        self.problem, self.place = problem, place


class TooDeepError(Exception):
    """Values are nested more deeply than is allowed."""


def compose(text: str, depth: int) -> Node | None:
    """Return the one document of a text, None when there is none.

    Raise NotYamlError, and TooDeepError for more than ``depth`` levels.
    """
    try:
        return _Loader(text, depth).get_single_node()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise NotYamlError(problem, place_of(mark) if mark else None) from None
    except YAMLError:
        raise NotYamlError("the file contains a control character", None) from None


def place_of(mark: Mark) -> tuple[int, int]:
    """Return line and column, from 1."""
    return mark.line + 1, mark.column + 1


class _Loader(Composer, BaseResolver, CParser):
    """PyYAML's composer instead of libyaml's, whose recursion crashes the process: 100 KB of ``[`` are enough."""

    def __init__(self, text: str, depth: int) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._left = depth + 1

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        """Compose a value. An anchor may be redefined; the newest wins."""
        if not self._left:
            raise TooDeepError
        event = self.peek_event()
        if isinstance(event, NodeEvent) and not isinstance(event, AliasEvent):
            self.anchors.pop(event.anchor, None)
        self._left -= 1
        node = super().compose_node(parent, index)
        self._left += 1
        return node


_Loader.add_implicit_resolver(NULL, re.compile(r"(?:~|null|Null|NULL)?$"), ["~", "n", "N", ""])

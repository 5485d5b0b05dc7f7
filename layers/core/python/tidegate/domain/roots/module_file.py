"""What root discovery must know of a Terraform file: the modules it uses, and whether it says where state lies.

A tolerant scanner and not a parser (docs/decisions/0012): a file with an error in it still tells which
modules it uses, and no nesting, however deep, costs more than time in proportion to the file's size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""
      (?P<comment>  \#[^\n]* | //[^\n]* | /\*(?:[^*]|\*(?!/))*(?:\*/)? )
    | (?P<heredoc>  <<-? (?P<tag>[\w-]+) [^\n]*(?:\n|\Z) )
    | (?P<string>   "(?:[^"\\$%\n]|\\.|[$%](?!\{))*" )
    | (?P<quote>    " )
    | (?P<open>     [{(\[] )
    | (?P<close>    [})\]] )
    | (?P<word>     [A-Za-z_][\w-]* )
    | (?P<equals>   = )
    | (?P<newline>  \n )
    """,
    re.VERBOSE,
)
#: Inside quotes: what is escaped, what begins an expression, and what ends the string (or the line, in error).
_IN_QUOTES = re.compile(r"(?P<escape>\\.|\$\$\{|%%\{)|(?P<expression>[$%]\{)|(?P<end>[\"\n])")
_EXPRESSION = "${"
_QUOTE = '"'


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """Sources of the modules that a file uses, as written, and whether it declares a backend or cloud block."""

    sources: frozenset[str] = frozenset()
    keeps_state: bool = False


def read_module_file(name: str, content: bytes) -> ModuleFile:
    """Read one file of a module; of a file that cannot be read, what can. Never raises for its content."""
    if b"module" not in content and b"terraform" not in content:
        return ModuleFile()
    text = content.decode("utf-8", "replace")
    return _read_json(text) if name.endswith(".json") else _read_native(text)


@dataclass(slots=True)
class _Reader:
    """Follows the tokens: which block it is in, and how the statement at hand began."""

    sources: set[str] = field(default_factory=set)
    keeps_state: bool = False
    block: str = ""
    statement: list[str] = field(default_factory=list)

    def see(self, kind: str, text: str, depth: int) -> None:
        if kind == "newline":
            self.statement.clear()
        elif depth == 0 and kind == "open":
            self.block = self.statement[0] if self.statement else ""
            self.statement.clear()
        elif depth <= 1 and kind in {"word", "string", "equals", "open"}:
            self._begun(kind, text, depth)

    def _begun(self, kind: str, text: str, depth: int) -> None:
        self.statement.append(text)
        if depth == 0:
            return
        if self.block == "module" and kind == "string" and self.statement[:-1] == ["source", "="]:
            self.sources.add(_unquoted(text))
        if self.block == "terraform" and kind in {"string", "open"} and self.statement[0] in {"backend", "cloud"}:
            self.keeps_state = self.keeps_state or "=" not in self.statement


def _read_native(text: str) -> ModuleFile:
    reader = _Reader()
    for kind, token, depth in _tokens(text):
        reader.see(kind, token, depth)
    return ModuleFile(frozenset(reader.sources), reader.keeps_state)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and depth of the tokens outside of templates; brackets have the depth that they stand in."""
    stack: list[str] = []
    position = 0
    while True:
        if stack and stack[-1] == _QUOTE:
            position = _skip_template(text, position, stack)
            continue
        match = _TOKEN.search(text, position)
        if match is None:
            return
        kind, position = match.lastgroup or "", match.end()
        if kind == "heredoc":
            position = _end_of_heredoc(text, position, match["tag"])
            yield "newline", "\n", len(stack)
        elif kind == "quote":
            stack.append(_QUOTE)
        elif kind == "close":
            if stack:
                stack.pop()
        else:
            yield kind, match.group(), len(stack)
            if kind == "open":
                stack.append(match.group())


def _skip_template(text: str, position: int, stack: list[str]) -> int:
    """Go on inside quotes: to their end, to the end of the line if they have none, or into an expression."""
    match = _IN_QUOTES.search(text, position)
    if match is None:
        stack.pop()
        return len(text)
    if match["expression"]:
        stack.append(_EXPRESSION)
    elif match["end"]:
        stack.pop()
        return match.end() if match["end"] == _QUOTE else match.start()
    return match.end()


def _end_of_heredoc(text: str, position: int, tag: str) -> int:
    end = re.compile(rf"^[ \t]*{re.escape(tag)}[ \t\r]*$", re.MULTILINE).search(text, position)
    return end.end() if end else len(text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _read_json(text: str) -> ModuleFile:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ModuleFile()
    calls = (call for named in _blocks(document, "module") for value in named.values() for call in _listed(value))
    sources = frozenset(call["source"] for call in calls if isinstance(call.get("source"), str))
    settings = _blocks(document, "terraform")
    return ModuleFile(sources, any("backend" in block or "cloud" in block for block in settings))


def _blocks(document: Any, kind: str) -> list[Mapping[str, Any]]:
    return _listed(document.get(kind)) if isinstance(document, dict) else []


def _listed(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a value: in the JSON form of the language, one block or a list of blocks."""
    values = value if isinstance(value, list) else [value]
    return [block for block in values if isinstance(block, dict)]

"""What root discovery reads from a Terraform file: the modules it uses, and evidence of a root."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.roots.rules.hcl import Body, HclFile

_READ = frozenset({"module", "provider", "terraform"})
_STATE = ("backend", "cloud")
#: A block begins a line, or stands after a comment. Files without one of these say nothing, and most have none.
_WORTH_READING = re.compile(rb"(?<![^\n/])[ \t\xef\xbb\xbf]*+(?:module|provider|terraform)(?![\w-])")


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """What a file says.

    ``sources`` are those of the modules that it uses, as written. ``keeps_state`` tells whether it has a backend or
    cloud block, ``configures`` whether it has a provider block, ``required`` are the versions of the engine that it
    demands. ``problem`` is a sentence where it cannot be read as a whole: it may say more than is known of it then.
    """

    sources: frozenset[str] = frozenset()
    keeps_state: bool = False
    configures: bool = False
    required: tuple[str, ...] = ()
    problem: str = ""


def read_module_file(name: str, content: bytes) -> ModuleFile:
    """Read one file of a module; of a file that cannot be read, what can. Never raises for its content."""
    if name.endswith(".json"):
        return _read_json(content)
    return _read_native(content) if _WORTH_READING.search(content) else ModuleFile()


def _read_native(content: bytes) -> ModuleFile:
    file = HclFile(content, _READ)
    settings = [block.body for block in file.body.all_of("terraform")]
    return ModuleFile(
        frozenset(_texts([block.body for block in file.body.all_of("module")], "source")),
        any(block.kind in _STATE for body in settings for block in body.blocks),
        any(file.body.all_of("provider")),
        tuple(_texts(settings, "required_version")),
        f"Line {file.problem.line}: {file.problem.what}." if file.problem else "",
    )


def _texts(bodies: Sequence[Body], name: str) -> Iterator[str]:
    """Yield the texts that bodies have as an argument."""
    found = (body.argument(name) for body in bodies)
    return (each.text for each in found if each is not None and each.text is not None)


def _read_json(content: bytes) -> ModuleFile:
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return ModuleFile(problem="It is not valid JSON.")
    calls = [call for named in _blocks(document, "module") for value in named.values() for call in _listed(value)]
    settings = _blocks(document, "terraform")
    return ModuleFile(
        frozenset(_strings(calls, "source")),
        any(kind in block for block in settings for kind in _STATE),
        any(_blocks(document, "provider")),
        tuple(_strings(settings, "required_version")),
    )


def _strings(blocks: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    return (block[name] for block in blocks if isinstance(block.get(name), str))


def _blocks(document: Any, kind: str) -> list[Mapping[str, Any]]:
    return _listed(document.get(kind)) if isinstance(document, dict) else []


def _listed(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a value: in the JSON form of the language, one block or a list of blocks."""
    values = value if isinstance(value, list) else [value]
    return [block for block in values if isinstance(block, dict)]

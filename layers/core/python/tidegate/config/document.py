"""A YAML document as plain values, with the place of each: nothing is constructed but text, lists and mappings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tidegate.domain.errors import InvalidConfiguration

#: Bytes of a configuration file, and values in it once its aliases are followed (so that a few lines
#: of aliases of aliases cannot become a billion values).
MAXIMUM_BYTES = 1024 * 1024
MAXIMUM_VALUES = 200_000
MAXIMUM_DEPTH = 30

_STANDARD = "tag:yaml.org,2002:"
_NULL = f"{_STANDARD}null"
_PLAIN = frozenset(f"{_STANDARD}{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq"))

Path = tuple[str | int, ...]
Place = tuple[int, int]


@dataclass(slots=True)
class Document:
    """A file's content, and where its parts stand.

    ``places`` gives line and column, from 1, of each value by its path and of each key by its path and ``KEY``.
    """

    file: str
    content: Any = None
    places: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path) -> Place:
        """Return where a path stands, or the nearest that it lies in."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))

    def refusal(self, path: Path, problem: str, allowed: str) -> InvalidConfiguration:
        """Return the refusal of what stands at a path."""
        line, column = self.place(path)
        return InvalidConfiguration(self.file, line, problem, allowed, column)


KEY = "\0key"


def read_document(file: str, raw: bytes) -> Document:
    """Return the document in a file. Scalars stay text, as they were written. Raise InvalidConfiguration."""
    if len(raw) > MAXIMUM_BYTES:
        raise InvalidConfiguration(file, 1, f"the file has {len(raw)} bytes", f"At most {MAXIMUM_BYTES} are read")
    document = Document(file)
    try:
        node = _yaml().compose(raw.decode("utf-8-sig"))
        document.content = None if node is None else _Reader(document).read(node, ())
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidConfiguration(file, line, "this is not UTF-8", "Save the file as UTF-8") from None
    except (RecursionError, MaxDepthExceededError):
        raise InvalidConfiguration(
            file, 1, "values are nested too deeply", "No key needs more than six levels"
        ) from None
    except MarkedYAMLError as error:
        raise _not_yaml(file, error) from None
    except YAMLError:
        raise InvalidConfiguration(file, 1, "a control character stands in the file", "Remove it") from None
    return document


def _yaml() -> YAML:
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = MAXIMUM_DEPTH
    yaml.composer.warn_double_anchors = False
    return yaml


def _not_yaml(file: str, error: MarkedYAMLError) -> InvalidConfiguration:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    problem = " ".join(part for part in (error.context, error.problem) if part)
    return InvalidConfiguration(file, line, f"this is not YAML: {problem}", "Correct the line or the one above", column)


class _Reader:
    """Turns nodes into values, counting them."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._values = 0

    def read(self, node: Node, path: Path) -> Any:
        self._document.places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        self._values += 1
        if self._values > MAXIMUM_VALUES:
            raise self._document.refusal(path, "the file has too many values", f"At most {MAXIMUM_VALUES} are read")
        if node.tag not in _PLAIN:
            raise self._document.refusal(path, f"the tag {str(node.tag)!r} is not known", "Write plain values")
        match node:
            case ScalarNode():
                return None if node.tag == _NULL else str(node.value)
            case SequenceNode():
                return [self.read(item, (*path, number)) for number, item in enumerate(node.value)]
            case MappingNode():
                return self._mapping(node, path)
        raise self._document.refusal(path, "this value is of no known kind", "Write text, lists and mappings")

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in node.value:
            name = self._key(key, path)
            if name in content:
                first = self._document.place((*path, name, KEY))[0]
                self._document.places[(*path, name)] = (key.start_mark.line + 1, key.start_mark.column + 1)
                problem = f"the key {name!r} stands here a second time"
                raise self._document.refusal((*path, name), problem, f"The first one is in line {first}")
            content[name] = self.read(value, (*path, name))
            self._document.places[(*path, name, KEY)] = (key.start_mark.line + 1, key.start_mark.column + 1)
        return content

    def _key(self, node: Node, path: Path) -> str:
        if isinstance(node, ScalarNode) and node.tag in _PLAIN:
            return str(node.value)
        self._document.places[(*path, KEY)] = (node.start_mark.line + 1, node.start_mark.column + 1)
        raise self._document.refusal((*path, KEY), "this key is not plain text", "Write keys as plain words")

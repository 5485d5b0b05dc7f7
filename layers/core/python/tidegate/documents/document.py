"""A YAML document as plain values with locations: only text, lists and mappings are constructed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tidegate.documents.nodes import NULL, PLAIN, NotYamlError, TooDeepError, compose, place_of
from tidegate.rules.errors import InvalidConfiguration

#: Bytes of a configuration file, values in it after resolving aliases (so that a few lines of aliases of aliases cannot
#: become a billion values), and characters of all of these together.
MAXIMUM_BYTES = 1024 * 1024
MAXIMUM_VALUES = 200_000
MAXIMUM_CHARACTERS = 4 * MAXIMUM_BYTES
MAXIMUM_DEPTH = 30
_LEVELS = "Use at most six levels of nesting"

Path = tuple[str | int, ...]
Place = tuple[int, int]


@dataclass(slots=True)
class Document:
    """A file's content with locations.

    ``places`` gives line and column, from 1, of each value by its path and of each key by its path and ``KEY``.
    """

    file: str
    content: Any = None
    places: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path) -> Place:
        """Return a path's location, or that of its nearest parent."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))

    def refusal(self, path: Path, problem: str, allowed: str) -> InvalidConfiguration:
        """Return the refusal for a path."""
        line, column = self.place(path)
        return InvalidConfiguration(self.file, line, problem, allowed, column)


KEY = "\0key"


def read_document(file: str, raw: bytes, *, merging: bool = False) -> Document:
    """Return the document in a file. Scalars stay text, as written. Raise InvalidConfiguration.

    ``merging`` supports the key ``<<`` of other tools' files, which merges other mappings.
    """
    if len(raw) > MAXIMUM_BYTES:
        raise InvalidConfiguration(file, 1, f"the file has {len(raw)} bytes", f"The limit is {MAXIMUM_BYTES} bytes")
    document = Document(file)
    try:
        node = compose(raw.decode("utf-8-sig"), MAXIMUM_DEPTH)
        document.content = None if node is None else _Reader(document, merging=merging).read(node, ())
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidConfiguration(file, line, "this is not UTF-8", "Save the file as UTF-8") from None
    except TooDeepError:
        raise InvalidConfiguration(file, 1, "values are nested too deep", _LEVELS) from None
    except NotYamlError as error:
        line, column = error.place or (1, None)
        if _is_tab(raw, error.place):
            blanks = "Indent with spaces: YAML allows no tabs"
            raise InvalidConfiguration(file, line, "found a tab character", blanks, column) from None
        problem = f"invalid YAML: {error.problem}"
        advice = "Correct this line or the one above it" if error.place else "Remove it"
        raise InvalidConfiguration(file, line, problem, advice, column) from None
    return document


def _is_tab(raw: bytes, place: tuple[int, int] | None) -> bool:
    """Tell whether a tab stands at a line and column, from 1."""
    if place is None:
        return False
    line, column = place
    text = "".join(raw.decode("utf-8-sig").split("\n")[line - 1 : line])
    return text[column - 1 : column] == "\t"


class _Reader:
    """Turns nodes into values, counting them; an alias counts as its target."""

    def __init__(self, document: Document, *, merging: bool) -> None:
        self._document = document
        self._merging = merging
        self._values = 0
        self._letters = 0

    def read(self, node: Node, path: Path) -> Any:
        self._document.places[path] = place_of(node.start_mark)
        self._count_value(path)
        if len(path) > MAXIMUM_DEPTH:  # By aliases: what is written out is not composed.
            raise self._document.refusal(path, "values are nested too deep", _LEVELS)
        if node.tag not in PLAIN:
            raise self._document.refusal(path, f"unknown YAML tag {node.tag!r}", "Write plain values")
        if isinstance(node, ScalarNode):
            self._count(node.value, path)
            return None if node.tag == NULL else node.value
        if isinstance(node, SequenceNode):
            return [self.read(item, (*path, number)) for number, item in enumerate(node.value)]
        assert isinstance(node, MappingNode)  # noqa: S101  # There are no other nodes.
        return self._mapping(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in self._merged(node, path) if self._merging else node.value:
            name = self._key(key, path)
            self._count(name, path)
            if name in content:
                first = self._document.place((*path, name, KEY))[0]
                self._document.places[(*path, name)] = place_of(key.start_mark)
                problem = f"duplicate key {name!r}"
                raise self._document.refusal((*path, name), problem, f"It is already set on line {first}")
            content[name] = self.read(value, (*path, name))
            self._document.places[(*path, name, KEY)] = place_of(key.start_mark)
        return content

    def _merged(self, node: MappingNode, path: Path, depth: int = 0) -> list[tuple[Node, Node]]:
        """Return a mapping's pairs after those that it merges: the first with a key wins."""
        self._count_value(path)
        if depth > MAXIMUM_DEPTH:
            raise self._document.refusal(path, "merge keys are nested too deep", "Write the keys in full")
        own = [pair for pair in node.value if not _merges(pair[0])]
        known = {key.value for key, _ in own if isinstance(key, ScalarNode)}
        taken: list[tuple[Node, Node]] = []
        for key, value in node.value:
            for other in (value.value if isinstance(value, SequenceNode) else [value]) if _merges(key) else ():
                if not isinstance(other, MappingNode):
                    self._document.places[*path, "<<"] = place_of(key.start_mark)
                    raise self._document.refusal((*path, "<<"), "expected a mapping", "Merge only mappings")
                for name, item in self._merged(other, path, depth + 1):
                    self._count_value(path)
                    if isinstance(name, ScalarNode) and name.value not in known:
                        known.add(name.value)
                        taken.append((name, item))
        return [*taken, *own]

    def _count_value(self, path: Path) -> None:
        self._values += 1
        if self._values > MAXIMUM_VALUES:
            raise self._document.refusal(path, "the file has too many values", f"The limit is {MAXIMUM_VALUES} values")

    def _count(self, text: str, path: Path) -> None:
        """Refuse a file whose aliases expand to far more text than it has."""
        self._letters += len(text)
        if self._letters > MAXIMUM_CHARACTERS:
            allowed = f"The limit is {MAXIMUM_CHARACTERS} characters, with aliases expanded"
            raise self._document.refusal(path, "the file has too much text", allowed)

    def _key(self, node: Node, path: Path) -> str:
        place = (*path, KEY)
        if not isinstance(node, ScalarNode) or node.tag not in PLAIN:
            self._document.places[place] = place_of(node.start_mark)
            raise self._document.refusal(place, "this key is not a plain string", "Write the key as a plain string")
        if _merges(node):
            self._document.places[place] = place_of(node.start_mark)
            raise self._document.refusal(
                place, "merge keys (<<) are not supported", "Write the keys in full, or use an alias as the whole value"
            )
        return str(node.value)


def _merges(key: Node) -> bool:
    return isinstance(key, ScalarNode) and not key.style and key.value == "<<"

"""A draft of tidegate.yaml: what was converted from another file, and the source of each part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.loader import examine_configuration
from tidegate.documents.document import KEY, Path, read_document
from tidegate.rules.errors import InvalidConfiguration
from tidegate_cli.converting.ledger import Ledger, plain_name

#: Of something that is left out, what the loader refuses: itself, or of a whole its keys.
_Refused = Mapping[Path, InvalidConfiguration]

_FILE = "tidegate.yaml"
#: Stands for the repository, whose name only the root at its top would have.
_REPOSITORY = "owner/repository"
#: Text that is written without quotes. Longer ones than any number that means something keep them.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
#: How often all that one reading of a draft refuses, some hundred mistakes, is taken out of it.
_MOST_READINGS = 20
#: Where a step stands, whose kind is all there is of it.
_STEPS = frozenset({"workflows", "hooks"})
#: The order in which keys are written.
_ORDER = (
    "version",
    "apply",
    "merge_after_apply",
    "destination_branches",
    "pull_requests",
    "engine",
    "when_modified",
    "plan_review",
    "dirs",
    "stacks",
    "workflows",
    "hooks",
    "access_control",
    "apply_requirements",
)
#: What is granted to nobody where it cannot be carried over.
_GRANTS = frozenset({"plan", "apply", "unlock", "review"})


@dataclass(frozen=True, slots=True)
class Whole:
    """Something that is of use only with all that it has: its name, what happens without it, and its lossy name."""

    name: str
    without: str
    lossy: str


@dataclass(slots=True)
class Draft:
    """``content`` is the file so far; ``origins`` tells where in the other file a part is from, with all in it.

    ``harmless`` tells why keys, and kinds of steps, are not needed, ``instead`` what there is in place of others;
    ``wholes`` is what is left out as a whole where one of its keys cannot be used.
    """

    ledger: Ledger
    content: dict[str, Any] = field(default_factory=dict)
    origins: dict[Path, Path] = field(default_factory=dict)
    harmless: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    wholes: dict[Path, Whole] = field(default_factory=dict)

    def origin(self, path: Path) -> Path:
        """Return where in the other file that is from which stands at a path, or what it stands in."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.origins:
                return (*self.origins[path[:length]], *path[length:])
        return ()


def finished(draft: Draft) -> str:
    """Return the file: whatever of the draft cannot be used is left out of it, and told as such.

    Raise InvalidConfiguration when nothing can be used, or far too much cannot be.
    """
    for _ in range(_MOST_READINGS):
        text = _written(draft.content)
        found = examine_configuration(text.encode(), _REPOSITORY)
        if isinstance(found, LoadedConfiguration):
            return text
        _without_all(draft, found, text)
    problem = "far too many of its values are invalid"
    told = draft.ledger.lossy()
    raise InvalidConfiguration(_FILE, 1, problem, f"One of them: {told[-1].text if told else 'unknown'}")


def _without_all(draft: Draft, errors: Sequence[InvalidConfiguration], text: str) -> None:
    """Take out of a draft all that one reading refuses. Raise the error that is about the whole file."""
    places = read_document(_FILE, text.encode()).places
    told: dict[Path, dict[Path, InvalidConfiguration]] = {}
    # From the end, so that the items of a list which are still to be taken out keep their numbers.
    for error in sorted(errors, key=lambda each: (each.line, each.column or 1), reverse=True):
        path = _path_at(places, error)
        if not path:
            raise error
        if path[0] in _STEPS and path[-1] == "type":  # A step of another kind: its other keys mean nothing without it.
            path = path[:-1]
        gone = path[:-1] if path[:-1] in draft.wholes else path
        told.setdefault(gone, {}).setdefault(path, error)
    for path, refused in told.items():
        if not any(path[:length] in told for length in range(1, len(path))):
            _tell(draft, path, refused)
            _without(draft, path)


def _tell(draft: Draft, path: Path, refused: _Refused) -> None:
    """Tell that what stands at a path is left out: as dropped where nothing is granted or lost by that."""
    origin = draft.origin(path)
    if whole := draft.wholes.get(path):
        found = [(*map(str, at[len(path) :]), error.problem) for at, error in refused.items()]
        why = "; ".join(": ".join(words) for words in reversed(found))
        draft.ledger.lost(origin, f"{whole.name} is not converted: {why}. {whole.without}", whole.lossy)
        return
    kind, problem = _kind(draft, path), refused[path].problem
    if kind in draft.harmless:
        draft.ledger.dropped(origin, f"{kind}: {draft.harmless[kind]}.")
    elif path[0] == "access_control" and any(part in _GRANTS for part in path[3:]):
        draft.ledger.dropped(origin, f"{problem}: Tidegate grants it to nobody.")
    else:
        text = draft.instead.get(kind)
        draft.ledger.lost(origin, f"{kind}: {text}." if text else f"{problem}.", _lossy_name(origin, kind))


def _lossy_name(origin: Path, kind: str) -> str:
    """Return the name of something that is lost. A step is known by its kind."""
    name = plain_name(origin)
    return f"{name}.{kind}" if origin and isinstance(origin[-1], int) and kind.isidentifier() else name


def _kind(draft: Draft, path: Path) -> str:
    """Return the key that stands at a path, or what kind of step does."""
    value: Any = draft.content
    for part in path:
        value = value[part]
    return str(value.get("type") if isinstance(value, dict) and isinstance(path[-1], int) else path[-1])


def _without(draft: Draft, path: Path) -> None:
    """Take out of a draft what stands at a path. A list of people who may is none then: nobody may."""
    holder: Any = draft.content
    for part in path[:-1]:
        holder = holder[part]
    if path[0] == "access_control" and path[-1] in _GRANTS and not isinstance(holder[path[-1]], list):
        holder[path[-1]] = []
        return
    del holder[path[-1]]
    if isinstance(path[-1], int):
        for number, _ in enumerate(holder):  # Fix where the others are from before their numbers move.
            draft.origins.setdefault((*path[:-1], number), draft.origin((*path[:-1], number)))
        draft.origins.setdefault((*path[:-1], len(holder)), draft.origin((*path[:-1], len(holder))))
        _renumber(draft.origins, path)
        _renumber(draft.wholes, path)


def _path_at(places: Mapping[Path, tuple[int, int]], error: InvalidConfiguration) -> Path:
    """Return the path of what stands where an error points to; the longest, as it is the narrowest."""
    here = [path for path, place in places.items() if place == (error.line, error.column or 1)]
    keys = [path[:-1] for path in here if path and path[-1] == KEY]
    return max(keys or here, key=len, default=())


def _renumber(known: dict[Path, Any], gone: Path) -> None:
    """Keep what is known of a list's items after one of them went."""
    if not isinstance(gone[-1], int):
        return
    depth = len(gone) - 1
    moved = dict(_moved(known, gone, depth))
    known.clear()
    known.update(moved)


def _moved(known: Mapping[Path, Any], gone: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    for path, value in known.items():
        number = path[depth] if len(path) > depth and path[:depth] == gone[:depth] else None
        if not isinstance(number, int) or not isinstance(gone[-1], int) or number < gone[-1]:
            yield path, value
        elif number > gone[-1]:
            yield (*path[:depth], number - 1, *path[depth + 1 :]), value


def _written(content: Mapping[str, Any]) -> str:
    known = [key for key in _ORDER if key in content]
    ordered = {key: content[key] for key in [*known, *(key for key in content if key not in _ORDER)]}
    return yaml.dump(_plain(ordered), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


class _Dumper(yaml.SafeDumper):
    """Writes no aliases: what is the same twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature.
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002  # PyYAML's signature.
        super().increase_indent(flow, indentless=False)


def _plain(value: Any) -> Any:
    """Return values as they are usually written: true and numbers without quotes. The loader reads texts either way."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value in ("true", "false"):
        return value == "true"
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value)
    return value

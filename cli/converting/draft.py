"""A draft of tidegate.yaml: what of another file was carried over, from which line each part is, and what was not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tidegate.config.document import KEY, read_document
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.loader import examine_configuration
from tidegate.domain.errors import InvalidConfiguration

Path = tuple[str | int, ...]

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
#: Keys of access control, of requirements and of stacks that something rests on, and those of people inside them. Keys
#: that are not known here were nothing that Tidegate does.
_GUARDS = frozenset(
    [
        "policies",
        "checks",
        "tag_query",
        "approved",
        "merge_conflicts",
        "status_checks",
        "rules",
        "apply_after",
        "plan_after",
        "can_apply_after",
        "auto_apply",
        "on_change",
        "modified_by",
    ]
)
_INSIDE = _GUARDS | frozenset(["enabled", "any_of", "any_of_count", "all_of", "ignore_matching"])
#: The lengths of the paths of a whole stack, and of a rule of one.
_A_STACK = 3
_A_RULE = 5
#: What is granted to nobody where it cannot be carried over.
_GRANTS = frozenset({"plan", "apply", "unlock", "review"})


@dataclass(frozen=True, slots=True, order=True)
class LeftOut:
    """Something that was not carried over: its line in the other file, and a sentence."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Whole:
    """Something that is of use only with all that it directly has: its name, and what happens without it."""

    name: str
    without: str


class CannotLeaveOut(Exception):
    """What guards something cannot be carried over: without it, more would be allowed than before."""

    def __init__(self, left_out: list[LeftOut]) -> None:
        super().__init__("; ".join(each.text for each in left_out))
        self.left_out = left_out


@dataclass(slots=True)
class Draft:
    """``content`` is the file so far, ``lines`` the other file's line of what stands at a path.

    ``instead`` tells what there is in place of keys, and of kinds of steps, that Tidegate does not know; ``wholes``
    what is left out as a whole where one of its keys cannot be used.
    """

    content: dict[str, Any] = field(default_factory=dict)
    lines: dict[Path, int] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    instead: Mapping[str, str] = field(default_factory=dict)
    wholes: dict[Path, Whole] = field(default_factory=dict)

    def leave_out(self, line: int, text: str) -> None:
        """Remember what is not carried over."""
        self.left_out.append(LeftOut(line, text))

    def line_of(self, path: Path) -> int:
        """Return the other file's line of what stands at a path, or of what it stands in."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def name_of(self, path: Path) -> str:
        """Return what stands at a path as people know it: by the name of what it is in, if that has one."""
        for length in range(1, len(path)):
            if whole := self.wholes.get(path[:length]):
                return f"{whole.name}: {'.'.join(map(str, path[length:]))}"
        return ".".join(map(str, path))


def finished(draft: Draft) -> str:
    """Return the file: whatever of the draft cannot be used is left out of it, and remembered as such.

    Raise InvalidConfiguration when nothing can be used, or far too much cannot be, and CannotLeaveOut when something
    guards what would be open then.
    """
    for _ in range(_MOST_READINGS):
        text = _written(draft.content)
        found = examine_configuration(text.encode(), _REPOSITORY)
        if isinstance(found, LoadedConfiguration):
            return text
        _without_all(draft, found, text)
    problem = f"more than {len(draft.left_out)} of its values cannot be used"
    raise InvalidConfiguration(_FILE, 1, problem, f"The last of them: {draft.left_out[-1].text}")


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
    guarding = [_left_out(draft, path, refused) for path, refused in told.items() if _guards(path)]
    if guarding:
        raise CannotLeaveOut(sorted(guarding))
    for path, refused in told.items():
        if not any(path[:length] in told for length in range(1, len(path))):
            _without(draft, path, refused)


def _guards(path: Path) -> bool:
    """Tell whether more would be allowed, or sooner, without what stands at a path.

    A list of people who may is none: what cannot be read of it is granted to nobody.
    """
    if path[0] == "access_control" and any(part in _GRANTS for part in path[3:]):
        return False
    known = {part for part in path[1:] if isinstance(part, str)} & _GUARDS
    if path[0] in {"access_control", "apply_requirements"}:
        return len(path) == 1 or (bool(known) and not (isinstance(path[-1], str) and path[-1] not in _INSIDE))
    if path[0] == "stacks":
        is_unknown = isinstance(path[-1], str) and path[-1] not in _GUARDS
        return len(path) <= _A_STACK or (bool(known) and not (is_unknown and len(path) == _A_RULE))
    return path[0] == "plan_review"


def _left_out(draft: Draft, path: Path, refused: _Refused) -> LeftOut:
    if whole := draft.wholes.get(path):
        found = [(*map(str, at[len(path) :]), error.problem) for at, error in refused.items()]
        why = "; ".join(": ".join(words) for words in reversed(found))
        return LeftOut(draft.line_of(path), f"{whole.name} is not carried over: {why}. {whole.without}")
    where, kind, error = draft.name_of(path), _kind(draft, path), refused[path]
    if kind in draft.instead:
        what = where if kind == path[-1] else f"{where} ({kind})"
        return LeftOut(draft.line_of(path), f"{what}: this is not in Tidegate: {draft.instead[kind]}.")
    return LeftOut(draft.line_of(path), f"{where}: {error.problem}.")


def _kind(draft: Draft, path: Path) -> str:
    """Return the key that stands at a path, or what kind of step does."""
    value: Any = draft.content
    for part in path:
        value = value[part]
    return str(value.get("type") if isinstance(value, dict) and isinstance(path[-1], int) else path[-1])


def _without(draft: Draft, path: Path, refused: _Refused) -> None:
    """Take out of a draft what stands at a path, as errors are about it."""
    draft.left_out.append(_left_out(draft, path, refused))
    holder: Any = draft.content
    for part in path[:-1]:
        holder = holder[part]
    if path[0] == "access_control" and path[-1] in _GRANTS and not isinstance(holder[path[-1]], list):
        holder[path[-1]] = []
    else:
        del holder[path[-1]]
        _renumber(draft.lines, path)
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
    return yaml.dump(_plain(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


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

"""A plan as rows for people: one for each resource, output and action that it changes, from the engine's JSON plan.

The form is HashiCorp's "JSON Output Format", version 1. Sensitive values never become part of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tidegate.plans.rules.attributes import AttributeLine, attribute_lines

#: Replaces known secrets in a text.
Mask = Callable[[str], str]


class Section(StrEnum):
    """What a row is about. ``DRIFT`` is what was changed outside of the engine since the last apply."""

    RESOURCES = "resources"
    OUTPUTS = "outputs"
    ACTIONS = "actions"
    DEFERRED = "deferred"
    DRIFT = "drift"


class Kind(StrEnum):
    """What happens to a resource, in the order in which people must see it."""

    DESTROY = "destroy"
    REPLACE = "replace"
    CHANGE = "change"
    ADD = "add"
    FORGET = "forget"
    MOVE = "move"
    IMPORT = "import"
    READ = "read"
    RUN = "run"


_ORDER = {kind: place for place, kind in enumerate(Kind)}
_SECTIONS = {section: place for place, section in enumerate(Section)}
#: What the engine says about why, for people. Reasons that are not here need no words.
_REASONS = {
    "replace_because_tainted": "It is tainted.",
    "replace_because_cannot_update": "An attribute cannot be changed in place.",
    "replace_by_request": "Its replacement was requested.",
    "replace_by_triggers": "A resource in its replace_triggered_by changes.",
    "delete_because_no_resource_config": "It is no longer in the configuration.",
    "delete_because_no_module": "Its module is no longer in the configuration.",
    "delete_because_wrong_repetition": "Its count or for_each was added or removed.",
    "delete_because_count_index": "Its index is beyond count.",
    "delete_because_each_key": "Its key is no longer in for_each.",
    "delete_because_no_move_target": "It moves to where no resource is configured.",
    "read_because_config_unknown": "Its configuration is known after the apply.",
    "read_because_dependency_pending": "It depends on a resource with changes.",
    "read_because_check_nested": "A check block reads it.",
}


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One thing that a plan does. ``address`` is an output's or an action's name too; ``module`` is empty for the root.

    ``previous`` is the address that it moves from, ``imported`` the id that it is imported by, ``forces`` the paths of
    attributes that force its replacement. ``creates_first`` tells that a replacement is created before the old one is
    destroyed. ``has_details``: attribute lines are stored.
    """

    section: Section
    kind: Kind
    address: str
    module: str = ""
    previous: str = ""
    imported: str = ""
    deposed: str = ""
    why: str = ""
    forces: tuple[str, ...] = ()
    creates_first: bool = False
    has_details: bool = False


@dataclass(frozen=True, slots=True)
class RowDetails:
    """A row with the lines of its attributes."""

    row: PlanRow
    lines: tuple[AttributeLine, ...]


def kind_of(resource: Mapping[str, Any]) -> Kind | None:
    """Return what happens to a resource, as ``planned_changes`` counts it; None for one that stays as it is."""
    change = resource["change"]
    actions = set(change["actions"])
    kinds = (
        ({"create", "delete"} <= actions, Kind.REPLACE),
        ("create" in actions, Kind.ADD),
        ("delete" in actions, Kind.DESTROY),
        ("update" in actions or actions - {"no-op", "read", "forget"}, Kind.CHANGE),
        ("forget" in actions, Kind.FORGET),
        (change.get("importing"), Kind.IMPORT),
        ("previous_address" in resource, Kind.MOVE),
        ("read" in actions, Kind.READ),
    )
    return next((kind for holds, kind in kinds if holds), None)


def resource_row(resource: Mapping[str, Any], mask: Mask, section: Section = Section.RESOURCES) -> RowDetails | None:
    """Return the row of an entry of ``resource_changes`` or ``resource_drift``; None if it stays as it is."""
    kind = kind_of(resource)
    if kind is None or (section is Section.DRIFT and kind is Kind.MOVE):
        return None
    change = resource["change"]
    importing = change.get("importing")
    row = PlanRow(
        section,
        kind,
        mask(str(resource["address"])),
        mask(str(resource.get("module_address", ""))),
        mask(str(resource.get("previous_address", ""))),
        mask(_imported(importing)) if importing else "",
        str(resource.get("deposed", "")),
        _REASONS.get(str(resource.get("action_reason")), ""),
        tuple(mask(_path(path)) for path in change.get("replace_paths") or () if isinstance(path, list)),
        kind is Kind.REPLACE and change["actions"][0] == "create",
    )
    return _with_lines(row, change, mask)


def output_row(name: str, change: Mapping[str, Any], mask: Mask) -> RowDetails | None:
    """Return the row of an entry of ``output_changes``; None if it stays as it is."""
    actions = set(change["actions"]) - {"no-op", "read"}
    if not actions:
        return None
    kind = Kind.ADD if actions == {"create"} else Kind.DESTROY if actions == {"delete"} else Kind.CHANGE
    values = {side: {name: change.get(side)} if _is_there(change, side) else None for side in ("before", "after")}
    marks = {key: {name: change.get(key, False)} for key in ("before_sensitive", "after_sensitive", "after_unknown")}
    return _with_lines(PlanRow(Section.OUTPUTS, kind, mask(name)), values | marks, mask)


def _is_there(change: Mapping[str, Any], side: str) -> bool:
    gone = "delete" if side == "after" else "create"
    return gone not in change["actions"] or len(change["actions"]) > 1


def action_row(invocation: Mapping[str, Any], mask: Mask) -> RowDetails:
    """Return the row of an entry of ``action_invocations``: an action of a provider, or a task of a cluster.

    A task says why it is due.
    """
    row = PlanRow(Section.ACTIONS, Kind.RUN, mask(str(invocation.get("address", ""))))
    if invocation.get("type") == "task":
        return RowDetails(replace(row, why=mask(str(invocation["config_values"]["why"]))), ())
    values = {
        "after": invocation.get("config_values"),
        "after_sensitive": invocation.get("config_sensitive", False),
        "after_unknown": invocation.get("config_unknown", False),
    }
    return _with_lines(row, values, mask)


def deferred_row(entry: Mapping[str, Any], mask: Mask) -> RowDetails:
    """Return the row of an entry of ``deferred_changes`` or ``deferred_action_invocations``."""
    if "action_invocation" in entry:
        inner = action_row(entry["action_invocation"], mask)
    else:
        resource = entry["resource_change"]
        address, module = (mask(str(resource.get(name, ""))) for name in ("address", "module_address"))
        row = PlanRow(Section.DEFERRED, kind_of(resource) or Kind.READ, address, module)
        inner = _with_lines(row, resource["change"], mask)
    reason = str(entry.get("reason", "")).replace("_", " ")
    return replace(inner, row=replace(inner.row, section=Section.DEFERRED, why=mask(reason)))


def by_urgency(rows: Sequence[PlanRow]) -> list[int]:
    """Return the places of rows in the order in which people read them.

    Resources come first. Modules follow each other by the worst that happens in them, then by name; within a module,
    rows have the order of ``Kind``, then of their addresses. Actions keep the order in which they run.
    """
    worst: dict[tuple[Section, str], int] = {}
    for row in rows:
        group = row.section, row.module
        worst[group] = min(worst.get(group, len(_ORDER)), _ORDER[row.kind])

    def key(place: int) -> tuple[int, int, str, int, str]:
        row = rows[place]
        group = row.section, row.module
        name = "" if row.section is Section.ACTIONS else row.address
        return _SECTIONS[row.section], worst[group], row.module, _ORDER[row.kind], name

    return sorted(range(len(rows)), key=key)


def counted(rows: Iterable[PlanRow]) -> dict[Kind, int]:
    """Return how many resources each kind of change has, in the order of ``Kind``."""
    of = dict.fromkeys(Kind, 0)
    for row in rows:
        if row.section is Section.RESOURCES:
            of[row.kind] += 1
    return {kind: count for kind, count in of.items() if count}


def _with_lines(row: PlanRow, change: Mapping[str, Any], mask: Mask) -> RowDetails:
    lines = tuple(attribute_lines(change, mask))
    return RowDetails(replace(row, has_details=bool(lines)), lines)


def _imported(importing: Any) -> str:
    if not isinstance(importing, Mapping):
        return ""
    if importing.get("identity"):
        return ", ".join(f"{name}={value}" for name, value in sorted(importing["identity"].items()))
    return str(importing.get("id") or "(known after apply)")


def _path(path: Sequence[Any]) -> str:
    """Return a path as people write it: ``ingress[0].from_port``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text

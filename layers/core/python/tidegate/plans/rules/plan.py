"""What a plan would change, from the engine's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.plans.rules.cost import PlanCost
from tidegate.rules.shortened import shortened

#: Addresses kept per kind of change, and characters of each: enough to read in a check run, little enough for a record
#: and for a runner's result (256 KB). Keys of ``for_each`` may be of any length.
KEPT_ADDRESSES, KEPT_CHARACTERS = 50, 400


#: Actions on a resource that is neither created, updated nor deleted.
_KNOWN = frozenset({"no-op", "read", "forget"})


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """Counts of a plan and the first addresses of what it destroys or replaces.

    A replacement counts once, as a replacement; a kind of change that is not known counts as ``change``.
    ``outputs`` counts changed outputs, ``moved`` moves, imports and removals from the state, ``actions``
    actions of providers that are invoked, ``deferred`` changes and actions that this apply leaves to a
    later one: each of these alone makes a plan one with changes. ``resources`` counts the managed ones in the state
    that was planned upon, None where nobody counted them.
    """

    add: int = 0
    change: int = 0
    destroy: int = 0
    replace: int = 0
    outputs: int = 0
    moved: int = 0
    actions: int = 0
    deferred: int = 0
    destroyed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    resources: int | None = field(default=None, compare=False)

    @property
    def counts(self) -> dict[str, int]:
        """Each count by its name, as events have them."""
        names = ("add", "change", "destroy", "replace", "outputs", "moved", "actions", "deferred")
        return {name: getattr(self, name) for name in names}

    @property
    def any(self) -> bool:
        return any(self.counts.values())


@dataclass(frozen=True, slots=True)
class Artifact:
    """A stored object: its key in the artifact bucket and the SHA-256 of its bytes in hexadecimal."""

    key: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of a plan job: exactly the reviewed plan is applied (design rule 6).

    ``structured`` is the plan as rows (``structured_file``), None where its text alone is stored. ``cost`` is
    None where no step states one.
    """

    job: str
    changes: PlannedChanges
    engine_version: str
    file: Artifact
    lock_file: Artifact | None
    json: Artifact
    text: Artifact
    structured: Artifact | None = None
    cost: PlanCost | None = None


def planned_changes(plan: Mapping[str, Any]) -> PlannedChanges:
    """Count what the plan ``terraform show -json`` printed would change.

    Raise ValueError when the document is not a plan: an unreadable plan is never an empty one.
    """
    try:
        return _counted(plan)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is not the JSON output of a plan") from error


def _counted(plan: Mapping[str, Any]) -> PlannedChanges:
    if "format_version" not in plan:
        raise KeyError("format_version")
    add = change = moved = 0
    destroyed: list[str] = []
    replaced: list[str] = []
    for resource in plan.get("resource_changes", []):
        details = resource["change"]
        actions = set(details["actions"])
        if {"create", "delete"} <= actions:
            replaced.append(resource["address"])
        elif "create" in actions:
            add += 1
        elif "delete" in actions:
            destroyed.append(resource["address"])
        elif "update" in actions or actions - _KNOWN:
            change += 1
        elif "previous_address" in resource or details.get("importing") or "forget" in actions:
            moved += 1
    return PlannedChanges(
        add=add,
        change=change,
        destroy=len(destroyed),
        replace=len(replaced),
        outputs=_changed(plan.get("output_changes", {}).values()),
        moved=moved,
        actions=len(plan.get("action_invocations", [])),
        deferred=len(plan.get("deferred_changes", [])) + len(plan.get("deferred_action_invocations", [])),
        destroyed=_kept(destroyed),
        replaced=_kept(replaced),
    )


def _kept(addresses: Sequence[str]) -> tuple[str, ...]:
    """Return the first addresses; a long one is cut with an ellipsis."""
    return tuple(shortened(each, KEPT_CHARACTERS) for each in addresses[:KEPT_ADDRESSES])


def _changed(outputs: Iterable[Mapping[str, Any]]) -> int:
    return sum(1 for output in outputs if set(output["actions"]) - {"no-op", "read"})

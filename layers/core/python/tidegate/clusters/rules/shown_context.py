"""The values of a workflow's context as people read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidegate.clusters.rules.context import Access, Key, diff_from, names_from, reference_from

_PLACES = {
    Access.EKS: "EKS cluster {}",
    Access.SECRET: "by the kubeconfig in the secret {}",
    Access.SIMULATED: "simulated",
    Access.UNKNOWN: "nothing says how to reach it",
}


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value of the context. ``text`` is None for one that is not shown."""

    key: str
    text: str | None


def shown_context(values: Mapping[str, str]) -> tuple[ShownValue, ...]:
    """Return the values by key. Those that hooks add are not shown: nobody knows whether they are secret."""
    return tuple(ShownValue(key, _shown(key, text)) for key, text in sorted(values.items()))


def _shown(key: str, text: str) -> str | None:
    if key not in set(Key):
        return None
    try:
        return _READ[Key(key)](text)
    except (ValueError, KeyError, TypeError):  # Providers write them.
        return None


def _reference(text: str) -> str:
    found = reference_from(text)
    return f"{found.name} ({_PLACES[found.access].format(found.place)})"


def _names(text: str) -> str:
    return ", ".join(names_from(text)) or "none"


def _diff(text: str) -> str:
    changes = (f"{each.name} {each.before or '–'} → {each.after or '–'}" for each in diff_from(text))
    return ", ".join(changes) or "none"


_READ: Mapping[Key, Callable[[str], str]] = {
    Key.BOOTSTRAP: _reference,
    Key.MANAGEMENT: _reference,
    Key.WORKLOAD: _reference,
    Key.PAUSED_CLUSTERS: _names,
    Key.PAUSED_GITOPS: str,
    Key.BACKUP: str,
    Key.DIFF: _diff,
}

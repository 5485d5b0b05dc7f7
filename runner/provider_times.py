"""How long providers took, from the lines that the engine prints while it applies.

Both engines print them for people (``internal/command/views/hook_ui.go``), with durations as Go does: ``1h2m3s``,
``1m0s``, ``0s``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runner.progress import ADDRESS
from tidegate.deploys.rules.provider_time import LONGEST_PROVIDER, ProviderTime, slowest_providers

#: Longer lines are not searched.
_LONGEST = 4000
_DURATION = r"(?:(?P<hours>[0-9]{1,2})h)?(?:(?P<minutes>[0-9]{1,2})m)?(?P<seconds>[0-9]{1,2})s"
_DONE = re.compile(
    rf"(?P<address>{ADDRESS})(?: \(deposed object [0-9a-f]+\))?: (?:Creation|Modifications|Destruction) complete"
    rf" after {_DURATION}(?: \[|$)"
)
#: Hosts that the engines leave out where they show a provider to people.
_USUAL_HOSTS = ("registry.terraform.io/", "registry.opentofu.org/")


def provider_times(lines: Iterable[str], providers: Mapping[str, str]) -> tuple[ProviderTime, ...]:
    """Return how long the providers took that an apply's lines tell of, the slowest ones.

    ``providers`` has the name of each resource's provider by the address. Lines about other addresses, and whatever
    else is printed, do not count.
    """
    return slowest_providers(_changes(lines, providers))


def _changes(lines: Iterable[str], providers: Mapping[str, str]) -> Iterator[ProviderTime]:
    for line in lines:
        done = _DONE.match(line.rstrip("\r\n")) if len(line) <= _LONGEST else None
        provider = providers.get(done["address"]) if done else None
        if done and provider:
            hours, minutes, seconds = (int(done[unit] or 0) for unit in ("hours", "minutes", "seconds"))
            lasted = (hours * 60 + minutes) * 60 + seconds
            yield ProviderTime(_shown(provider), 1, lasted, lasted)


def _shown(provider: str) -> str:
    for host in _USUAL_HOSTS:
        provider = provider.removeprefix(host)
    return provider[:LONGEST_PROVIDER]


def provider_times_of(log: Path, start: int, providers: Mapping[str, str]) -> tuple[ProviderTime, ...]:
    """Return the times of the log from the byte ``start`` on; none if a program has deleted the log."""
    try:
        with log.open("rb") as file:
            file.seek(start)
            return provider_times((line.decode("utf-8", "replace") for line in file), providers)
    except OSError:
        return ()

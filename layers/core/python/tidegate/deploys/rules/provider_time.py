"""How long the resources of each provider took in an apply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: Providers that an apply's result has: most root modules use fewer than five.
MOST_PROVIDERS = 10
#: Characters that are kept of a provider's name.
LONGEST_PROVIDER = 100
#: No sum of an apply is larger: a thousand resources of 12 hours, the longest apply, take 43 million seconds.
_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class ProviderTime:
    """How often a provider created, modified or destroyed a resource, for how long in all, and at most, in seconds."""

    provider: str
    changes: int
    seconds: int
    longest: int


def slowest_providers(times: Iterable[ProviderTime], most: int = MOST_PROVIDERS) -> tuple[ProviderTime, ...]:
    """Return one entry for each provider, at most these many, the one with the longest change first."""
    sums: dict[str, ProviderTime] = {}
    for one in times:
        before = sums.get(one.provider, ProviderTime(one.provider, 0, 0, 0))
        longest = max(before.longest, one.longest)
        sums[one.provider] = ProviderTime(
            one.provider, before.changes + one.changes, before.seconds + one.seconds, longest
        )
    return tuple(sorted(sums.values(), key=lambda each: (-each.longest, -each.seconds, each.provider))[:most])


def kept_providers(times: Iterable[ProviderTime]) -> tuple[ProviderTime, ...]:
    """Return what a record keeps of a runner's times, whatever the runner sent."""
    return slowest_providers(
        ProviderTime(
            one.provider[:LONGEST_PROVIDER], _within(one.changes, 1), _within(one.seconds), _within(one.longest)
        )
        for one in times
    )


def _within(number: int, least: int = 0) -> int:
    return min(max(number, least), _LARGEST)

"""What a target's status URL may be at, and what it answers."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.config_updates.rules.trailers import COMMIT
from tidegate.rules.errors import TidegateError, quoted

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
#: IPv6 networks whose addresses stand for IPv4 addresses, private ones too, and the old private addresses of sites.
_NOT_PUBLIC = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "2002::/16", "2001::/32", "fec0::/10")))


class StatusRefused(TidegateError):
    """A status that cannot be read, or may not."""


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """The commit of the config repository that a target runs, and whether it is healthy with that.

    ``assessed_at`` is when that was found out, None if the target does not say.
    """

    config_sha: str
    healthy: bool
    assessed_at: datetime | None = None


def address_problem(address: str, allowed: Sequence[Network]) -> str | None:
    """Return why an address may not be connected to, None if it may.

    Public addresses may, others only in networks that the installation lists: a file in a repository must not reach
    what the functions' network or machine has inside.
    """
    try:
        found = _plain(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return f"{quoted(address)} is not an address."
    if any(found in network for network in allowed if network.version == found.version):
        return None
    if not found.is_global or found.is_multicast or found.is_reserved or any(found in each for each in _NOT_PUBLIC):
        return f"{found} is not a public address. The installation can list its network."
    return None


def _plain(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def read_networks(text: str) -> tuple[Network, ...]:
    """Return networks, such as ``10.0.0.0/8``, from a list with commas. Raise ValueError."""
    return tuple(ipaddress.ip_network(each.strip()) for each in text.split(",") if each.strip())


def read_status(body: bytes) -> TargetStatus:
    """Return what a status URL answered. Raise StatusRefused."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise StatusRefused("The status is not JSON.") from None
    if not isinstance(given, dict):
        raise StatusRefused('The status is not an object. Answer {"config_sha": "…", "healthy": true}.')
    sha, healthy, at = given.get("config_sha"), given.get("healthy"), given.get("assessed_at")
    if not isinstance(sha, str) or not COMMIT.fullmatch(sha):
        raise StatusRefused("The status has no config_sha that is a full commit SHA in lower case.")
    if not isinstance(healthy, bool):
        raise StatusRefused("The status has no healthy that is true or false.")
    return TargetStatus(sha, healthy, None if at is None else _timestamp(at))


def _timestamp(text: object) -> datetime:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise StatusRefused("The status has an assessed_at that is no time with its offset, such as 2026-03-02T09:00Z.")
    return found

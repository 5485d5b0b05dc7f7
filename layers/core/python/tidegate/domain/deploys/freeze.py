"""Freeze windows: times in which nothing is applied to some roots, whatever asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.domain.deploys.deployment import Deployment
from tidegate.domain.deploys.review import moment
from tidegate.domain.markdown import escaped, without_marks
from tidegate.domain.tags.query import parse_tag_query
from tidegate.domain.tags.terms import Tagged, tagged

#: How long a window may hold without a break. What waits for its end, and what waits for that, must outlast it
#: (``GATE_DAYS``, ``REQUIREMENTS_DAYS``), and plans are kept as long.
LONGEST_FREEZE_DAYS = 21
#: How the sentence on a window that holds begins.
_FROZEN = "Deployments are frozen until "


@dataclass(frozen=True, slots=True)
class Freeze:
    """A window for the roots that match a tag ``query``, and why.

    It goes from ``begins`` until ``ends`` (ISO 8601 in UTC), or begins whenever ``cron`` says in ``zone`` and takes
    so many ``minutes``.
    """

    query: str = ""
    reason: str = ""
    begins: str = ""
    ends: str = ""
    cron: str = ""
    minutes: int = 0
    zone: str = "UTC"
    line: int = field(default=0, compare=False)

    def matches(self, root: Tagged) -> bool:
        """Tell whether the window is about what has these tags."""
        return parse_tag_query(self.query).matches(root)

    def is_ahead(self, at: str) -> bool:
        """Tell whether the window holds, or will, at some time after ``at`` (ISO 8601 in UTC)."""
        return bool(self.cron) or self.ends > at

    @property
    def words(self) -> str:
        """When it is, for people."""
        if self.cron:
            hours, minutes = divmod(self.minutes, 60)
            long = " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))
            return f"{long} from each {self.cron!r} ({self.zone})"
        return f"from {moment(self.begins)} until {moment(self.ends)}"


@dataclass(frozen=True, slots=True)
class FreezeWindows:
    """The freeze windows of a repository, as its default branch's newest file has them."""

    repository: str
    windows: tuple[Freeze, ...] = ()


def frozen_tags(deployment: Deployment) -> Tagged:
    """Return what windows are judged by: the tags that the root has in its stack."""
    stacks = (f"stack_name:{name}" for name in (deployment.stack, *deployment.within))
    return tagged(deployment.root, (*deployment.tags, *stacks))


def frozen(missing: Sequence[str]) -> str:
    """Return until when a deployment is frozen and why, in plain text, if it waits for nothing else; else nothing.

    ``missing`` are the sentences on what it waits for: of several windows the one that ends last counts.
    """
    if not missing or not all(each.startswith(_FROZEN) for each in missing):
        return ""
    return without_marks(f"Frozen until {max(missing).removeprefix(_FROZEN)}").removesuffix(".")


def sentence(freeze: Freeze, until: str) -> str:
    """Return that nothing is applied until then (ISO 8601 in UTC), and why, in Markdown."""
    why = f": {escaped(freeze.reason)}" if freeze.reason else "."
    return f"{_FROZEN}{moment(until)}{why}"

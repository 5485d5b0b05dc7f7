"""Freeze windows: times in which certain roots are not applied, whatever requests it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import moment
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import Tagged, tagged
from tidegate.rules.timestamp import LONG_AGO
from tidegate.texts.markdown import escaped

#: The longest window without a break. Gates and requirements must outlast it (``GATE_DAYS``, ``REQUIREMENTS_DAYS``),
#: and plans are kept as long.
LONGEST_FREEZE_DAYS = 21


@dataclass(frozen=True, slots=True)
class Freeze:
    """A window for the roots that match a tag ``query``, and why.

    It goes from ``begins`` until ``ends``, or begins whenever ``cron`` says in ``zone`` and takes
    so many ``minutes``.
    """

    query: str = ""
    reason: str = ""
    begins: datetime | None = None
    ends: datetime | None = None
    cron: str = ""
    minutes: int = 0
    zone: str = "UTC"
    line: int = field(default=0, compare=False)

    def matches(self, root: Tagged) -> bool:
        """Tell whether the window is about what has these tags."""
        return parse_tag_query(self.query).matches(root)

    def is_ahead(self, at: datetime) -> bool:
        """Tell whether the window holds, or will, at some time after ``at``."""
        return bool(self.cron) or (self.ends is not None and self.ends > at)

    @property
    def words(self) -> str:
        """When it is, for people."""
        if self.cron:
            hours, minutes = divmod(self.minutes, 60)
            long = " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))
            return f"{long} from each start of {self.cron!r} ({self.zone})"
        return f"from {moment(self.begins or LONG_AGO)} until {moment(self.ends or LONG_AGO)}"


@dataclass(frozen=True, slots=True)
class FreezeWindows:
    """The freeze windows of a repository, from the newest configuration of its default branch."""

    repository: str
    windows: tuple[Freeze, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold:
    """A window that holds, and when it ends."""

    freeze: Freeze
    until: datetime


@dataclass(frozen=True, slots=True)
class MissingBeforeApply:
    """What is missing before an apply: a sentence in Markdown for each.

    ``frozen`` says in plain text until when freeze windows hold, and why, if nothing else is missing: of several the
    one that ends last counts.
    """

    sentences: tuple[str, ...] = ()
    frozen: str = ""

    def __bool__(self) -> bool:
        return bool(self.sentences)


def frozen_tags(deployment: Deployment) -> Tagged:
    """Return the tags that windows match: those of the root in its stack."""
    stacks = (f"stack_name:{name}" for name in (deployment.stack, *deployment.within))
    return tagged(deployment.root, (*deployment.tags, *stacks))


def missing(held: Sequence[Hold], others: Sequence[str]) -> MissingBeforeApply:
    """Return what is missing of a deployment: the ends of the windows that hold, and whatever ``others`` say."""
    sentences = (*map(_sentence, held), *others)
    return MissingBeforeApply(sentences, _frozen(held) if held and not others else "")


def _frozen(held: Sequence[Hold]) -> str:
    last = max(held, key=lambda each: each.until)
    return f"Frozen {_until(last, last.freeze.reason)}".removesuffix(".")


def _sentence(hold: Hold) -> str:
    end = "" if hold.freeze.reason else "."
    return f"Deployments are frozen {_until(hold, escaped(hold.freeze.reason))}{end}"


def _until(hold: Hold, reason: str) -> str:
    return f"until {moment(hold.until)}" + (f": {reason}" if reason else "")

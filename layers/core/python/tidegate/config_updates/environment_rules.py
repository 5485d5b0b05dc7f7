"""What a config repository's file says of an environment besides ``config_updates``: it is judged like a root."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.config.freezes import frozen_until
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.rules.config_updates import ConfigUpdates, environment_tags
from tidegate.config_updates.rules.approvals import EntryWait, missing_approvals
from tidegate.config_updates.rules.entry import EntryKind, UpdateEntry
from tidegate.deploys.rules.review import moment
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.terms import Tagged
from tidegate.rules.access import UNMATCHED, Access

#: The access of an environment that no policy matches.
_NOBODY = Access((), (), (), (), denied=UNMATCHED)


@dataclass(frozen=True, slots=True)
class EnvironmentRules:
    """The rules of one environment. ``file`` is empty for one that is not declared any more."""

    loaded: LoadedConfiguration
    image_set: str
    name: str
    file: str = ""

    @property
    def tagged(self) -> Tagged:
        """What tag queries match."""
        return environment_tags(self.image_set, self.name, self.file)

    @property
    def access(self) -> Access | None:
        """Who may do what: None without access control, nobody if no policy matches."""
        if self.loaded.policies is None:
            return None
        tagged = self.tagged
        return next((each.access for each in self.loaded.policies if each.query.matches(tagged)), _NOBODY)

    @property
    def required(self) -> Requirements | None:
        """What is required before images enter; None if there are checks, and none matches."""
        return self.loaded.required_of(self.tagged)

    def frozen(self, now: datetime) -> EntryWait:
        """Return the window that covers it and ends last."""
        tagged = self.tagged
        due = [(each, frozen_until(each, now)) for each in self.loaded.freezes if each.matches(tagged)]
        held = [(until, each.reason) for each, until in due if until]
        if not held:
            return EntryWait()
        until, reason = max(held)
        return EntryWait(f"{self.name} is frozen until {moment(until)}{f': {reason}' if reason else ''}.", until)


def wait_of(rules: EnvironmentRules, entry: UpdateEntry, now: datetime) -> EntryWait:
    """Return why an entry may not enter the auto branch now.

    A freeze window keeps everything out. Approvals are required of what people bring in, not of announcements, which
    CI makes.
    """
    if entry.override is not None:
        return EntryWait()
    frozen = rules.frozen(now)
    if frozen.reason or entry.kind is EntryKind.ANNOUNCEMENT:
        return frozen
    return EntryWait(missing_approvals(entry.approvals, rules.required))


def rules_of(loaded: LoadedConfiguration, updates: ConfigUpdates, image_set: str, name: str) -> EnvironmentRules:
    """Return the rules of an environment, also of one that is not declared any more."""
    declared = updates.environment(image_set, name)
    return EnvironmentRules(loaded, image_set, name, declared.file if declared else "")

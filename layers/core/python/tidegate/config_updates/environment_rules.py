"""What a config repository's file says of an environment besides ``config_updates``: it is judged like a root.

Its name is ``SET/ENVIRONMENT``, its directory that of its file, and its stack has the name of the image set.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from tidegate.config.loaded import LoadedConfiguration
from tidegate.config_updates.read_configuration import CurrentUpdates
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
        """What tag queries match: the tags of a root, and ``set:`` and ``environment:``."""
        directory = posixpath.dirname(self.file) or "."
        tags = (
            f"dir:{directory}",
            f"name:{self.image_set}/{self.name}",
            f"stack_name:{self.image_set}",
            f"set:{self.image_set}",
            f"environment:{self.name}",
        )
        return Tagged(directory, frozenset(tags))

    @property
    def access(self) -> Access | None:
        """Who may do what: None without access control, nobody if no policy matches."""
        if self.loaded.policies is None:
            return None
        tagged = self.tagged
        return next((each.access for each in self.loaded.policies if each.query.matches(tagged)), _NOBODY)


def rules_of(current: CurrentUpdates, image_set: str, name: str) -> EnvironmentRules:
    """Return the rules of an environment, also of one that is not declared any more."""
    declared = current.updates.environment(image_set, name)
    return EnvironmentRules(current.loaded, image_set, name, declared.file if declared else "")

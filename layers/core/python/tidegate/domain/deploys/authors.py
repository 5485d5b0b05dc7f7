"""Who made a change, as far as that is known."""

from __future__ import annotations

from dataclasses import dataclass

#: Authors of a change that are remembered. Of one that has more, it counts as not known who made it.
MAXIMUM_AUTHORS = 300


@dataclass(frozen=True, slots=True)
class Authors:
    """The logins of people who made a change, each once; ``known`` tells whether these are all."""

    logins: tuple[str, ...] = ()
    known: bool = True

    def and_also(self, other: Authors) -> Authors:
        """Return the authors of both changes together."""
        every = tuple(dict.fromkeys((*self.logins, *other.logins)))
        return Authors(every[:MAXIMUM_AUTHORS], self.known and other.known and len(every) <= MAXIMUM_AUTHORS)


#: Of a change that nobody can tell the authors of.
UNKNOWN = Authors(known=False)

"""Who made a change, as far as that is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.texts.markdown import code

#: Authors of a change that are remembered. Of one that has more, it counts as not known the author.
MAXIMUM_AUTHORS = 300
#: What is not known that is told; more would not be read.
_MOST_GAPS = 3
#: Characters of an address that are shown: it may be any text.
_ADDRESS = 200
#: What a line of a commit's message begins with that names who else made it, and where forges let who likes to keep
#: their own address private write from: ``NUMBER+LOGIN@users.noreply.github.com``, on GitLab with a hyphen.
_CO_AUTHOR, _PRIVATE = "co-authored-by:", "users.noreply."


@dataclass(frozen=True, slots=True)
class Authors:
    """The logins of people who made a change, each once; ``known`` tells whether these are all.

    ``gaps`` name the unknown authors in Markdown: of many, the first.
    """

    logins: tuple[str, ...] = ()
    known: bool = True
    gaps: tuple[str, ...] = field(default=(), compare=False)

    def and_also(self, other: Authors) -> Authors:
        """Return the authors of both changes together."""
        every = tuple(dict.fromkeys((*self.logins, *other.logins)))
        known = self.known and other.known and len(every) <= MAXIMUM_AUTHORS
        gaps = tuple(dict.fromkeys((*self.gaps, *other.gaps)))[:_MOST_GAPS]
        return Authors(every[:MAXIMUM_AUTHORS], known, gaps)


def nobody_at(address: str, sha: str) -> Authors:
    """Return that the forge knows nobody by an address that a commit has."""
    whose = f"the owner of the address {code(address, _ADDRESS)}" if address else "the author"
    return Authors(known=False, gaps=(f"{whose} (commit {code(sha[:7])})",))


#: Of a change that nobody can tell the authors of.
UNKNOWN = Authors(known=False)


def co_authors(message: str) -> tuple[str, ...]:
    """Return the addresses, in lowercase letters, of whom a commit's message names as its authors besides."""
    lines = (line.strip() for line in message.splitlines())
    named = (line for line in lines if line.lower().startswith(_CO_AUTHOR))
    return tuple(line.partition("<")[2].partition(">")[0].strip().lower() for line in named)


def private_login(address: str, separator: str, *, alone: bool = False) -> str:
    """Return whose a private address of the forge is, an empty text if it is none.

    ``separator`` stands between the number and the login, which may stand ``alone`` on some forges.
    """
    name, _, domain = address.rpartition("@")
    number, found, login = name.partition(separator)
    if not domain.lower().startswith(_PRIVATE):
        return ""
    if found and number.isdecimal():
        return login
    return name if alone else ""

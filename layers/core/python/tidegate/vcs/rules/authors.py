"""The known authors of a change."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.texts.markdown import code

#: Authors of a change in a record at most. With more, the list is incomplete.
MAXIMUM_AUTHORS = 300
#: What is not known that is told; more would not be read.
_MOST_GAPS = 3
#: Characters of an email address that are shown: it may be any text.
_ADDRESS = 200
#: The prefix of a co-author line in a commit's message, and the form of private email addresses:
#: ``NUMBER+LOGIN@users.noreply.github.com``, on GitLab with a hyphen.
_CO_AUTHOR, _PRIVATE = "co-authored-by:", "users.noreply."


@dataclass(frozen=True, slots=True)
class Authors:
    """The logins of a change's authors, each once; ``known`` tells whether these are all.

    ``gaps`` describe unknown authors in Markdown, the first few.
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
    """Return that the VCS provider knows no user for a commit's email address."""
    whose = f"the owner of the address {code(address, _ADDRESS)}" if address else "the author"
    return Authors(known=False, gaps=(f"{whose} (commit {code(sha[:7])})",))


#: Of a change that nobody can tell the authors of.
UNKNOWN = Authors(known=False)


def co_authors(message: str) -> tuple[str, ...]:
    """Return the email addresses of co-authors in a commit's message, in lowercase."""
    lines = (line.strip() for line in message.splitlines())
    named = (line for line in lines if line.lower().startswith(_CO_AUTHOR))
    return tuple(line.partition("<")[2].partition(">")[0].strip().lower() for line in named)


def private_login(address: str, separator: str, *, alone: bool = False) -> str:
    """Return the login in a private email address of the VCS provider, an empty text if it is none.

    ``separator`` stands between the number and the login; on some providers the login may be ``alone``.
    """
    name, _, domain = address.rpartition("@")
    number, found, login = name.partition(separator)
    if not domain.lower().startswith(_PRIVATE):
        return ""
    if found and number.isdecimal():
        return login
    return name if alone else ""

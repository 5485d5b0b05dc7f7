"""What a change is, in words: the title of its commit or pull request, and its author."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.texts.markdown import one_line

#: Characters of a title, and of an avatar's URL, that are kept: lists show one line.
LONGEST_TITLE, LONGEST_AVATAR = 160, 300


@dataclass(frozen=True, slots=True)
class Headline:
    """What a change is. Fields that the VCS provider did not tell are empty.

    ``title`` is the first line of the commit's message, ``author`` who made the change: the author of the pull request,
    or else of the commit. ``avatar`` is the URL of their picture.
    """

    title: str = ""
    author: str = ""
    avatar: str = ""
    pull_request: int | None = None
    pull_request_title: str = ""

    @property
    def text(self) -> str:
        """What to call the change: the pull request's title, or else the commit's."""
        return self.pull_request_title or self.title


def headline_of(message: str, author: str = "", avatar: str = "") -> Headline:
    """Return the headline of a commit with this message, within the lengths of a record."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    return Headline(one_line(first, LONGEST_TITLE), one_line(author, LONGEST_TITLE), picture(avatar))


def with_pull_request(commit: Headline, number: int, title: str, author: str, avatar: str) -> Headline:
    """Return a commit's headline with the pull request that it came with, whose author made the change."""
    made = headline_of(title, author, avatar)
    return Headline(commit.title, made.author, made.avatar, number, made.title)


def picture(url: str) -> str:
    """Return the URL of a picture; an empty text if it is none that a page could show."""
    is_whole = len(url) <= LONGEST_AVATAR and url.isascii() and url.isprintable() and " " not in url
    return url if is_whole and url.startswith(("https://", "http://")) else ""

"""What a forge's people call things. Texts are in GitHub's words; where they are shown, they are said in the forge's.

Names, plans and whatever else is quoted stand in code, and addresses in links: these are left as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_QUOTED = (
    r"^ {0,3}```[^`\n]*\n.*?(?:^ {0,3}```+[ \t]*$|\Z)"  # A block of code.
    r"|(?<!`)(?P<ticks>`++).+?(?<!`)(?P=ticks)(?!`)"
    r"|<code>(?:(?!</code>).)*+"
    r"|<!--(?:(?!-->).)*+"
    r"|\]\([^()\s]*\)"
    r"|https?://\S+"
)
_REQUEST = r"(?P<request>\b[Pp]ull[ -]requests?\b)(?P<of> (?:[\w./-]*#)?(?=\d+\b))?"
_CHECK = r"(?P<check>\b[Cc]heck[ -]runs?\b)"
_WORDS = re.compile(f"{_QUOTED}|{_REQUEST}|{_CHECK}", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ForgeTerms:
    """The words of one forge.

    ``sign`` stands before a request's number. ``begin`` is the first step to a repository's first page.
    """

    pull_request: str
    sign: str
    check_run: str
    check_runs: str
    begin: str

    @property
    def pull_requests(self) -> str:
        """Return the word for several."""
        return f"{self.pull_request}s"

    def reference(self, number: int) -> str:
        """Return how people write a request's number, such as ``#12``."""
        return f"{self.sign}{number}"

    def said(self, text: str) -> str:
        """Return a text of Tidegate's, Markdown or plain, in these words; what it quotes stays as it is."""
        return text if self == GITHUB_WORDS else _WORDS.sub(self._said, text)

    def _said(self, found: re.Match[str]) -> str:
        if found["check"]:
            return _alike(found["check"], self.check_runs if found["check"].endswith("s") else self.check_run)
        if not found["request"]:
            return found.group()
        word = self.pull_requests if found["request"].endswith("s") else self.pull_request
        number = found["of"]
        return _alike(found["request"], word) + (f"{number.removesuffix('#')}{self.sign}" if number else "")


def _alike(before: str, word: str) -> str:
    """Return the word with a capital letter if what it stands for had one."""
    return word.capitalize() if before[0].isupper() else word


GITHUB_WORDS = ForgeTerms(
    "pull request",
    "#",
    "check run",
    "check runs",
    "Install the App on a repository, merge a change of a root module to its default branch, and look again.",
)
GITLAB_WORDS = ForgeTerms(
    "merge request",
    "!",
    "commit status",
    "commit statuses",
    "Add the webhook to a project, merge a change of a root module to its default branch, and look again.",
)


def words_of(reference: str) -> ForgeTerms:
    """Return the words of the forge whose people write a request's number so."""
    return GITLAB_WORDS if reference.startswith(GITLAB_WORDS.sign) else GITHUB_WORDS

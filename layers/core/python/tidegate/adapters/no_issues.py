"""The port ``ForgeIssues`` on a forge whose issues Tidegate does not write: everything is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tidegate.domain.errors import ForgeRefused

_NOT_IMPLEMENTED = 501


class NoIssues:
    """Refuses to write, and knows of no issue."""

    def open_issue(self, _installation: int, _repository: str, _title: str, _text: str) -> int:
        return _refuse()

    def write_issue(self, _installation: int, _repository: str, _issue: int, _text: str, *, is_open: bool) -> None:
        _refuse()

    def our_issues(self, _installation: int, _repository: str, _marker: str) -> Sequence[int]:
        return ()


def _refuse() -> NoReturn:
    raise ForgeRefused(_NOT_IMPLEMENTED, "Tidegate writes no issues on GitLab: use report: check in the schedule")

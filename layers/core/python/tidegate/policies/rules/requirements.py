"""Apply requirements of a root, as configured by `apply_requirements`."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Requirements:
    """What is configured: how many approvals (0: none), whether conflicts and failing checks hold up, and whether a
    head that lacks commits of its base branch does (``undiverged``).

    ``approvals`` count those by people whom one of ``any_of`` means, by everybody with write permission where it is
    empty; each of ``all_of`` must mean one of those who approved. They are written as in access control: ``user:``,
    ``team:``, ``role:``. Checks whose name fits one of ``ignore_matching``, globs, do not hold up.
    """

    approvals: int = 0
    mergeable: bool = False
    checks: bool = False
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    ignore_matching: tuple[str, ...] = ()
    undiverged: bool = False

    @property
    def asks_people(self) -> bool:
        return bool(self.approvals or self.all_of)

    @property
    def demands(self) -> bool:
        """Whether anything is required."""
        return self.asks_people or self.mergeable or self.undiverged or self.checks

    @property
    def grantees(self) -> tuple[str, ...]:
        """Whose approvals may count."""
        return (*self.any_of, *self.all_of)

    @property
    def words(self) -> str:
        """What is required, for people, empty if nothing is."""
        parts = (
            f"{self.approvals} {'approval' if self.approvals == 1 else 'approvals'}" if self.approvals else "",
            f"of any of {', '.join(self.any_of)}" if self.any_of and self.approvals else "",
            f"of all of {', '.join(self.all_of)}" if self.all_of else "",
            "no merge conflict" if self.mergeable else "",
            "the newest commit of its base branch" if self.undiverged else "",
            "all checks passed" if self.checks else "",
        )
        return ", ".join(filter(None, parts))

    @property
    def after_merge(self) -> Requirements:
        """Requirements that remain after a merge, which settles conflicts and missing commits of the base."""
        return replace(self, mergeable=False, undiverged=False)

"""A deployment's dependencies in its change."""

from __future__ import annotations

from dataclasses import dataclass

#: Refused roots that are named: a record has its limits.
MOST_REFUSED = 100


@dataclass(frozen=True, slots=True, order=True)
class AwaitedEnvironment:
    """An environment of an image set, as ``SET/ENVIRONMENT``, of a config repository."""

    repository: str
    environment: str

    def __str__(self) -> str:
        return f"environment {self.environment} of {self.repository}"

    @property
    def environment_key(self) -> tuple[str, str]:
        """The image set and the environment."""
        image_set, _, name = self.environment.partition("/")
        return image_set, name


@dataclass(frozen=True, slots=True)
class Soak:
    """How long a stack must have been completely applied before those after it begin their applies."""

    stack: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Waits:
    """A root's dependencies in its change set. Most have none.

    ``roots`` (of the same stack) and ``plan_after`` (stacks) must be applied before it is planned, ``apply_after``
    (stacks) before it is applied. Only members of the change set are named. ``refused`` are further dependencies that
    are refused, the first ``MOST_REFUSED``: it does not continue without them. ``by_hand`` are those that no merge
    deploys: it continues, but people review its plan. ``environments`` of config repositories must be complete before
    it is applied. ``soaks`` are of stacks in ``plan_after`` and ``apply_after``.
    """

    roots: tuple[str, ...] = ()
    plan_after: tuple[str, ...] = ()
    apply_after: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    by_hand: tuple[tuple[str, str], ...] = ()
    environments: tuple[AwaitedEnvironment, ...] = ()
    soaks: tuple[Soak, ...] = ()

    @property
    def before_plan(self) -> bool:
        return bool(self.roots or self.plan_after or self.refused)

    @property
    def before_apply(self) -> bool:
        return bool(self.apply_after or self.environments or self.soaks)

    @property
    def any(self) -> bool:
        """Tell whether there is a gate to wait at."""
        return self.before_plan or self.before_apply

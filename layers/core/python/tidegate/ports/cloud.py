"""State machines, runner tasks, plan functions, and stored objects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.runner_task import RunnerTask


@dataclass(frozen=True, slots=True)
class ObjectStart:
    """The first bytes of a stored object; size in bytes and SHA-256 in hexadecimal of the whole."""

    content: bytes
    size: int
    sha256: str = ""


class Workflows(Protocol):
    def start_deploy(self, execution: str, queue: str) -> None:
        """Start the deploy machine under this execution name. An existing execution counts as success."""

    def ending(self, execution: str) -> str | None:
        """Return a deploy execution's final status in Step Functions; None while it runs.

        Raise NotFound if there is none of this name (any more: they are kept for 90 days).
        """

    def start_pull_request(self, execution: str, pull_request: str, revision: str) -> None:
        """Start the pull-request machine under this execution name. An existing or ended one counts as success.

        Its input is ``{"pull_request": "OWNER/REPO#NUMBER", "revision": …}``.
        """

    def stop_pull_request(self, execution: str, cause: str) -> None:
        """Stop an execution of the pull-request machine. One that has ended, or never was, counts as stopped."""

    def pull_request_ending(self, execution: str) -> str | None:
        """Return a pull-request execution's final status, as ``ending`` does. Raise NotFound."""

    def settle(self, token: str, output: Mapping[str, Any]) -> None:
        """Settle a task token. Raise TooLate if it has expired."""

    def fail(self, token: str, error: str, cause: str) -> None:
        """Fail a task token. Raise TooLate if it has expired."""


class Runners(Protocol):
    def running(self) -> Sequence[RunnerTask]:
        """Return the running and starting tasks of runners."""

    def stop(self, task: str, reason: str) -> None:
        """Interrupt a task, which is killed two minutes later. One that has ended, or never was, counts as stopped."""


class PlanFunctions(Protocol):
    """The functions that run plans, where plans begin on Lambda."""

    def start(self, function: str, job: str, digest: str, token: str) -> None:
        """Request a call of the function (its ARN), in an execution environment that no other job ever gets."""


class Artifacts(Protocol):
    def get(self, key: str) -> bytes:
        """Return a stored object. Raise NotFound."""

    def get_start(self, key: str, size: int) -> ObjectStart:
        """Return at most the first ``size`` bytes of a stored object. Raise NotFound."""

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""

    def remove(self, keys: Collection[str]) -> None:
        """Remove objects; those that are gone already count as removed."""

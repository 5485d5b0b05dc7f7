"""What is sent to a destination, and refusals of receivers."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.rules.errors import TidegateError


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message. Each attempt has the same ``id``. ``body`` is of ``content_type``, ``title`` an e-mail's subject."""

    id: str
    body: bytes
    content_type: str
    title: str


class NotDelivered(TidegateError):
    """A receiver did not take a message. ``retry_after`` are the seconds that it asks to wait, if it does."""

    def __init__(self, destination: str, problem: str, retry_after: int | None = None) -> None:
        super().__init__(f"The destination {destination} did not take the notification: {problem}.")
        self.problem, self.retry_after = problem, retry_after

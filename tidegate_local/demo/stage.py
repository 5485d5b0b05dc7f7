"""Shared by the demo's scenarios: the cloud, the screen, the repository, and time limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rich.console import Console

from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient
from tidegate_local.options import PROJECT

Found = TypeVar("Found")

SAMPLE = PROJECT / "examples" / "sample"
REPOSITORY = "demo/sample"
#: A whole demo takes about a minute; a download of the engine and its providers may take minutes.
TIME_LIMIT = 600.0
POLL = 0.15


class DemoFailed(Exception):
    """The demo failed; the message says where to look."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A running local cloud, and the screen."""

    cloud: LocalCloud
    console: Console

    @property
    def forge(self) -> ForgeClient:
        """The maintainer, who pushes and merges."""
        return self.person("maintainer")

    def person(self, name: str) -> ForgeClient:
        """Return somebody at the forge."""
        return ForgeClient(self.cloud.info["forge_url"], name)

    def say(self, markup: str) -> None:
        """Print a line; addresses in it are never broken."""
        self.console.print(markup, soft_wrap=True, highlight=False)


def awaited(look: Callable[[], Found | None], what: str) -> Found:
    """Return the first answer of ``look`` that is not None. Raise DemoFailed if ``what`` takes too long."""
    end = time.monotonic() + TIME_LIMIT
    while (found := look()) is None:
        if time.monotonic() > end:
            raise DemoFailed(
                f"{what} did not happen within {TIME_LIMIT:.0f} s. `make up` keeps the cloud running, so that you "
                "can investigate."
            )
        time.sleep(POLL)
    return found

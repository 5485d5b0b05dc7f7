"""A scenario in memory for what happens around plans and applies, and deployments placed in it."""

from __future__ import annotations

from typing import Any

from tests.builders import any_plan
from tests.fakes import MemoryForge
from tests.fakes.ports import changed, memory_ports
from tidegate.check_runs.check_run_view import Links


class Scenario:
    """Every port, in memory: ``scenario.deployments`` is that of ``scenario.ports``."""

    def __init__(self, settings: dict[str, str] | None = None, **given: Any):
        self.ports = memory_ports(settings, **{"forge": MemoryForge(writers={"reviewer", "maintainer"}), **given})
        self.ports.artifacts.put(any_plan().text.key, b"  + resource\n")
        self.__post_init__()

    def __post_init__(self):
        """Let scenarios that are more than this add what they have."""

    def __getattr__(self, name: str) -> Any:
        if name == "ports":
            raise AttributeError(name)
        return getattr(self.ports, name)

    @property
    def boards(self):
        return self.ports.queue_snapshots

    def put(self, deployment):
        assert self.deployments.add(deployment)
        return deployment

    def linked(self, **links):
        """Return the ports where check runs lead to these places."""
        return changed(self.ports, links=Links(**links))

    def states(self):
        return [deployment.state for deployment in self.event_publisher.announced]

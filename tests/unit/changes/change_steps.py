"""Who acts on changes: executions that take steps and wait, and the messages between functions."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.state import State
from tidegate.rules.errors import TooLate


@dataclass
class Execution:
    """An execution of either machine: its next step, and what it waits with."""

    name: str
    queue: str
    step: str
    deployment: str = ""
    version: int = 0
    token: str = ""
    job: str | None = None
    plans: int = 0
    came_to: State | None = None

    def comes_to(self, outcome: State) -> State:
        """Return what its job came to: a task that is done again tells the same."""
        self.came_to = self.came_to or outcome
        return self.came_to


class Machines:
    """The port ``Workflows``, and the executions."""

    def __init__(self):
        self.workers: dict[str, Execution] = {}
        self.children: dict[str, Execution] = {}

    def start_deploy(self, execution, queue):
        self.workers.setdefault(execution, Execution(execution, queue, "claim"))

    def settle(self, token, output):
        for each in [*self.workers.values(), *self.children.values()]:
            if each.step.startswith("waiting") and each.token == token:
                each.step, each.token = _after(each.step, output), ""
                return
        raise TooLate


def _after(step: str, output) -> str:
    """Return what an execution does when its token is answered."""
    if step == "waiting for a signal":
        return "claim"
    if step == "waiting for a review":
        return "apply" if output["approved"] else "end"
    return {"plan again": "plan", "superseded": "end", "rejected": "end"}.get(output["next"], output["next"])


class Mail:
    """The port ``EventPublisher``: messages to those that look at gates, and to those that show check runs."""

    def __init__(self):
        self.moved: list[str] = []
        self.shown: list[tuple[str, dict]] = []

    def change_moved(self, change_set):
        self.moved.append(change_set)

    def changed(self, deployment):
        self.shown.append((deployment.id, {}))

    def refresh(self, deployment):
        self.shown.append((deployment, {"again": True}))

    def position_changed(self, deployment):
        self.shown.append((deployment, {"again": True, "if_new": True}))

    def repeated(self, deployment, by):
        self.shown.append((deployment, {"again": True, "repeated_by": by}))

    def answered(self, deployment, why):
        self.shown.append((deployment, {"again": True, "answer": why}))

    def queue_changed(self, queue):
        """Lines are shown by others."""

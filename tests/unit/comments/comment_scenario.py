"""A pull request that people comment on."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import REPOSITORY, any_plan
from tests.unit.pull_requests.pull_request_scenario import FILES, FORK_POINT, HEAD, NUMBER, PullRequestScenario
from tidegate.comments.receive_comment import receive_comment
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import judged
from tidegate.vcs.rules.authors import Authors


class CommentScenario(PullRequestScenario):
    """A pull request that changes ``live/app`` and ``live/db``, is planned, and that people comment on."""

    def __post_init__(self):
        super().__post_init__()
        self.trees[HEAD] = {**FILES, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}
        self.forge.changes["main", HEAD] = Change(FORK_POINT, Authors())
        self.forge.writers.add("writer")
        self.forge.readers.add("reader")

    def comment(self, text, by="writer", delivery=None):
        where = {"repository": REPOSITORY, "sender": by}
        fields = {**where, "pull_request": NUMBER, "comment": 70, "text": text}
        stored = delivery or self.delivery("issue_comment", **fields)
        return receive_comment(self.ports, stored)

    def opened(self):
        self.receive()
        self.discover()
        self.planned()

    def planned(self):
        """Let all that waits be planned, and shown."""
        for layer in self.found:
            if not layer.is_done:
                self.layers.save(replace(layer, state=LayerState.PLANNED, plan=any_plan()))
        record = replace(self.record, commented=self.record.discovered)
        self.records.save(judged(record, self.found, self.clock.now()))

    @property
    def waiting(self):
        return sorted(layer.root.name for layer in self.found if not layer.is_done)

    @property
    def names(self):
        return sorted(layer.root.name for layer in self.found)

    @property
    def reply(self):
        ((_, text),) = self.forge.comments
        return text

"""Retries at gates, carried out at once and in the same process: their queue would do it soon."""

from __future__ import annotations

from contextlib import contextmanager

from tests.unit.usecases.trees import Trees
from tidegate.gates.retry_blocked import RETRY, retry_blocked

#: Puts every root into each of these stacks.
STACKS = """\
stacks:
  allow_workspace_in_multiple_stacks: true
  names: {dev: {tag_query: ''}, staging: {tag_query: ''}, prod: {tag_query: ''}}
"""


class RetriesAtOnce:
    """The port ``EventQueue`` of a world, which carries out what is sent."""

    def __init__(self, world):
        self.world = world

    def send(self, delivery):
        assert delivery.event == RETRY
        retry_blocked(self.world.ports, delivery)


class DefaultBranch:
    """The port ``SourceHistory`` of a world: the default branch has all roots that were ever deployed, and ``file``."""

    def __init__(self, world, file=STACKS):
        self.world, self.file = world, file

    @contextmanager
    def fetch(self, _url, _token, _before, _after):
        roots = {f"{each.root.dir}/main.tf": "" for each in self.world.deployments.all()}
        yield Trees({}, {"tidegate.yaml": self.file, **roots})

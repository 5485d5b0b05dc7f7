"""Retries at gates, carried out at once and in the same process: their queue would do it soon."""

from __future__ import annotations

from contextlib import contextmanager

from tests.unit.discovery.trees import Trees
from tidegate.gates.retry_blocked import RETRY, retry_blocked

#: Puts every root into each of these stacks.
STACKS = """\
stacks:
  allow_workspace_in_multiple_stacks: true
  names: {dev: {tag_query: ''}, staging: {tag_query: ''}, prod: {tag_query: ''}}
"""


class RetriesAtOnce:
    """The port ``EventQueue`` of a scenario, which carries out what is sent."""

    def __init__(self, scenario):
        self.scenario = scenario

    def send(self, delivery):
        assert delivery.event == RETRY
        retry_blocked(self.scenario.ports, delivery)


class DefaultBranch:
    """The port ``SourceHistory``: the default branch has all roots that were ever deployed, and ``file``."""

    def __init__(self, scenario, file=STACKS):
        self.scenario, self.file = scenario, file

    @contextmanager
    def fetch(self, _url, _token, _before, _after):
        roots = {f"{each.root.dir}/main.tf": "" for each in self.scenario.deployments.all()}
        yield Trees({}, {"tidegate.yaml": self.file, **roots})

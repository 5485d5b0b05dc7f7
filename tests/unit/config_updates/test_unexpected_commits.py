"""Commits that nobody asked for: nothing of them is recorded."""

from __future__ import annotations

import pytest

from tests.unit.config_updates.worker import CONFIG
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.rules.entry import EntryState
from tidegate.messages.config_updates import BeginReplay
from tidegate.rules.errors import UnexpectedCommits


def refuse_push(repository, branch, old, new, bundle):
    """Find other commits in the bundle than those that were asked for."""
    raise UnexpectedCommits(f"The bundle lacks the commit {new.tip}.")


def test_commits_that_are_not_the_expected_ones_leave_the_queue_as_it_was(worker, monkeypatch):
    entry = worker.announce(1)
    worker.claim()
    of_worker = {"repository": CONFIG, "execution": worker.execution}
    worker.run(begin_replay(worker.ports, BeginReplay(**of_worker)).job)
    before, at = worker.head, worker.at(worker.head.auto_branch)
    monkeypatch.setattr(worker.branches, "push", refuse_push)
    with pytest.raises(UnexpectedCommits):
        worker.push()
    assert (worker.head.stack, worker.state(entry)) == (before.stack, EntryState.QUEUED)
    assert worker.at(before.auto_branch) == at

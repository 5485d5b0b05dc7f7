"""What a hostile runner, CI run or contributor tries, and what a queue makes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.config_updates.worker import CONFIG, Worker
from tidegate.config_updates.adapters.replays import result_text
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.queue.push_replay import UnexpectedResult, push_replay
from tidegate.config_updates.rules.replay import Outcome, Replayed, State, result_key
from tidegate.messages.config_updates import BeginReplay, PushReplay


@pytest.mark.parametrize(
    "forged",
    [
        lambda entry: Replayed("c1", (Outcome(entry, State.COMMITTED, "a-green-commit"),)),
        lambda entry: Replayed("m1", (Outcome(entry, State.COMMITTED, "a-green-commit"),)),
        lambda entry: Replayed("c1", (Outcome(entry, State.NOOP),)),
        lambda _: Replayed("c1", (Outcome("another", State.COMMITTED, "c1"),)),
    ],
)
def test_a_result_that_names_other_commits_than_the_pushed_ones_is_refused(
    worker: Worker, forged: Callable[[str], Replayed]
) -> None:
    entry = worker.announce(1)
    worker.claim()
    of_worker = {"repository": CONFIG, "execution": worker.execution}
    begun = begin_replay(worker.ports, BeginReplay(**of_worker))
    worker.run(begun.job)
    worker.ports.artifacts.put(result_key(begun.job), result_text(forged(entry)))
    with pytest.raises(UnexpectedResult):
        push_replay(worker.ports, PushReplay(**of_worker))
    assert worker.at("auto") == ""


def test_a_result_whose_commits_nobody_pushed_is_not_believed_after_a_crash(worker: Worker) -> None:
    first = worker.announce(1)
    worker.until_waiting()
    second, tip = worker.announce(2), worker.at("auto")
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    forged = Replayed(tip, (Outcome(second, State.COMMITTED, tip),))
    worker.ports.artifacts.put(result_key(begun.job), result_text(forged))
    assert worker.claim().step == "apply"
    assert [each.entry for each in worker.head.stack] == [first]

"""Which pushes brought what a deployment would apply."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_deployed, any_deployment, any_revision, sha
from tests.fakes import MemoryDeployments, MemoryDeployQueues
from tidegate.deploys.find_pushed import find_pushed
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import Deployed, Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.state import State
from tidegate.vcs.rules.push import Pushed

OWN = Pushed(sha(4), sha(5), "main")
EARLIER = Pushed(sha(3), sha(4), "main")


@pytest.fixture
def queues():
    return MemoryDeployQueues(MemoryDeployments())


def undone(queues, **fields):
    """Let a deployment of an earlier push come to a bad end; return how its root stands."""
    record = amended(any_deployment(4), state=State.REJECTED, pushed=(EARLIER,), **fields)
    queues.enqueue(record)
    return Standing("default", undone=Deployed(record.id, record.revision, record.state, Trigger.MERGE))


def test_a_merge_holds_its_own_push(queues):
    merge = any_deployment(5, pushed=(OWN,))
    assert find_pushed(queues, Standing("default"), merge) == (OWN,)


def test_it_holds_what_came_to_a_bad_end_before_it_as_well_and_finds_the_same_again(queues):
    standing, merge = undone(queues), any_deployment(5, pushed=(OWN,))
    found = find_pushed(queues, standing, merge)
    assert found == (EARLIER, OWN)
    assert find_pushed(queues, standing, replace(merge, commits=replace(merge.commits, pushed=found))) == found


def test_a_root_that_comes_back_holds_all_since_the_revision_deployed_last(queues):
    back = any_deployment(5, pushed=(OWN,), returns=True)
    assert find_pushed(queues, Standing("default", any_deployed(2)), back) == (Pushed(sha(2), sha(5), "main"), OWN)
    assert find_pushed(queues, Standing("default"), back) == (OWN,)


def test_what_was_let_pass_once_is_not_judged_again(queues):
    assert find_pushed(queues, undone(queues, apply_job="job"), any_deployment(5, pushed=(OWN,))) == (OWN,)


def test_of_what_nobody_remembers_it_is_not_known_what_it_brought(queues):
    gone = Standing("default", undone=any_deployed(4))
    assert find_pushed(queues, gone, any_deployment(5, pushed=(OWN,)))[0] == Pushed("", sha(4), "main")


@pytest.mark.parametrize(("deployed", "before"), [(any_deployed(2), sha(2)), (None, "")])
def test_what_no_push_asks_for_holds_all_since_the_revision_deployed_last(queues, deployed, before):
    asked = any_deployment(5, trigger=Trigger.MANUAL)
    found = find_pushed(queues, Standing("default", deployed), asked)
    assert found == (Pushed(before, sha(5), "main"),)


def test_the_head_of_a_pull_request_holds_what_waits_in_line_behind_it(queues):
    queues.enqueue(any_deployment(4, pushed=(EARLIER,)))
    queues.enqueue(any_deployment(6, trigger=Trigger.RERUN, pushed=(OWN,)))
    head = any_deployment(5, trigger=Trigger.MANUAL, pull_request=5, revision=any_revision(5, branch="feature"))
    assert find_pushed(queues, Standing("default", any_deployed(2)), head) == (EARLIER,)


def test_of_very_many_pushes_it_is_not_known_what_they_brought(queues):
    many = tuple(Pushed(sha(n), sha(n + 1), "main") for n in range(30))
    assert find_pushed(queues, Standing("default"), any_deployment(5, pushed=many)) == (Pushed("", sha(5), "main"),)


def test_what_is_run_again_brings_what_it_brought_but_a_head_what_came_since_the_last(queues):
    merge = any_deployment(5, pushed=(OWN,))
    assert run_again(merge, "main", "maintainer", merge.request.at, "1").commits.pushed == (OWN,)
    head = replace(merge, request=replace(merge.request, trigger=Trigger.MANUAL, pull_request=5))
    assert run_again(head, "main", "maintainer", merge.request.at, "1").commits.pushed == ()


def test_no_push_asks_for_the_end_of_what_is_deployed(queues):
    wanted = any_deployment(5, trigger=Trigger.MANUAL, destroy=Destruction("last"))
    assert find_pushed(queues, Standing("default", deployed=any_deployed(5)), wanted) == ()

"""Looking at queues and deployments: what is seen, and in how many reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import (
    PLAN_TEXT,
    REPOSITORY,
    any_deployed,
    any_deployment,
    any_job,
    any_plan,
    any_queue,
    any_root,
    deployment_in,
)
from tests.fakes.ports import changed, memory_ports
from tidegate.check_runs.get_deployment import SHOWN_PLAN, describe_deployment
from tidegate.deploys.queue.get_queue import (
    SHOWN_WAITING,
    get_queue,
    page_of_roots,
    search_queues,
)
from tidegate.deploys.rules.queue import Standing
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.root_query_of_deployments import parse_root_query
from tidegate.deploys.rules.state import State
from tidegate.ports import PublishedCheckRun


class Counted:
    """Counts the calls of a port."""

    def __init__(self, port, calls):
        self._port, self._calls = port, calls

    def __getattr__(self, name):
        def call(*arguments, **fields):
            self._calls.append(name)
            return getattr(self._port, name)(*arguments, **fields)

        return call


@pytest.fixture
def ports():
    return memory_ports()


def counted(ports, calls):
    """Return the same ports, of which those that know queues count their calls."""
    return changed(
        ports, **{name: Counted(getattr(ports, name), calls) for name in ("queues", "deployments", "repository_index")}
    )


def test_a_queue_that_was_never_used_is_empty(ports):
    view = get_queue(ports, any_queue())
    assert (view.head.version, view.running, view.line) == (0, None, ())


def test_a_root_of_several_stacks_is_found_by_each_of_them(ports):
    made = [any_deployment(number, stack=stack, shared=True) for number, stack in ((1, "dev"), (2, "prod"))]
    for one in made:
        ports.queues.enqueue(one)
    head, _ = ports.queues.read(any_queue())
    own = tuple(Standing(one.stack, attempted=replace(any_deployed(), deployment=one.id)) for one in made)
    ports.queues.commit(head, replace(head, attempted=own[1].attempted, by_stack=own))
    for stack in ("dev", "prod"):
        found = search_queues(ports, REPOSITORY, parse_root_query(f"stack_name:{stack}"))
        assert [view.stacks for view in found.roots] == [("dev", "prod")]
    nothing = search_queues(ports, REPOSITORY, parse_root_query("stack_name:deb"))
    assert (nothing.roots, "Did you mean stack_name:dev?" in nothing.hint) == ([], True)


def test_who_waits_is_seen_in_order_with_their_places(ports):
    merges = [any_deployment(number) for number in (1, 2)]
    by_hand = any_deployment(3, trigger=Trigger.MANUAL, requested_by="operator")
    for one in (*merges, by_hand):
        ports.queues.enqueue(one)
    line = get_queue(ports, any_queue()).line
    assert [(place.number, place.waiting.deployment) for place in line] == [
        (1, by_hand.id),
        (2, merges[0].id),
        (3, merges[1].id),
    ]
    assert line[0].deployment.request.by == "operator"


def test_what_runs_is_seen(ports):
    one = any_deployment()
    ports.queues.enqueue(one)
    head, first = ports.queues.read(any_queue())
    ports.queues.commit(head, replace(head, in_flight=one.id), take=first)
    view = get_queue(ports, any_queue())
    assert (view.running.id, view.line) == (one.id, ())


def test_a_long_line_costs_no_more_reads_than_a_short_one(ports):
    calls = []
    for number in range(SHOWN_WAITING + 50):
        ports.queues.enqueue(any_deployment(number))
    view = get_queue(counted(ports, calls), any_queue())
    assert calls == ["read", "waiting", "many"]
    assert [place.deployment is None for place in view.line] == [False] * SHOWN_WAITING + [True] * 50


def test_the_roots_of_a_repository_tell_what_runs_and_what_ended_last(ports):
    last, running = any_deployment(1), any_deployment(2)
    for one in (last, running):
        ports.queues.enqueue(one)
    ports.queues.enqueue(any_deployment(3, root=replace(last.root, name="app")))
    head, _ = ports.queues.read(any_queue())
    ports.queues.commit(head, replace(head, in_flight=running.id, attempted=any_deployed(1)))
    app, network = page_of_roots(ports, REPOSITORY, 10).roots
    assert (app.name, app.running, app.last) == ("app", None, None)
    assert (network.name, network.running.id, network.last.id) == ("network", running.id, last.id)


def test_the_roots_of_a_repository_are_read_page_by_page(ports):
    for number, name in enumerate("abcde"):
        ports.queues.enqueue(any_deployment(number, root=any_root(name=name)))
    pages, after = [], ""
    while after is not None:
        page = page_of_roots(ports, REPOSITORY, 2, after)
        pages.append([view.name for view in page.roots])
        after = page.next
    assert pages == [["a", "b"], ["c", "d"], ["e"]]
    assert page_of_roots(ports, "acme/none", 2).roots == []


@pytest.mark.parametrize(("roots", "deployments"), [(2, 100), (100, 4), (100, 1)])
def test_a_search_goes_on_where_its_reads_ended(ports, monkeypatch, roots, deployments):
    monkeypatch.setattr("tidegate.deploys.queue.get_queue.SEARCHED", roots)
    monkeypatch.setattr("tidegate.deploys.queue.get_queue.SEARCHED_DEPLOYMENTS", deployments)
    for number, name in enumerate("abcde"):
        made = [any_deployment(10 * number + each, root=any_root(name=name), stack="prod") for each in (0, 1)]
        for one in made:
            ports.queues.enqueue(one)
        head, _ = ports.queues.read(any_queue(name))
        ended = replace(any_deployed(), deployment=made[0].id)
        ports.queues.commit(head, replace(head, in_flight=made[1].id, attempted=ended))
    found, after = [], ""
    while after is not None:
        page = search_queues(ports, REPOSITORY, parse_root_query("stack_name:prod and not root:c"), after)
        assert page.searched <= 2
        found += [view.name for view in page.roots]
        after = page.next
    assert found == ["a", "b", "d", "e"]


class Desk:
    """A deployment and all that belongs to it."""

    def __init__(self):
        self.ports = memory_ports()
        self.artifacts, self.check_runs = self.ports.artifacts, self.ports.check_runs

    def look(self, deployment):
        return describe_deployment(self.ports, deployment)

    def planned(self, deployment, *attempts):
        for attempt in attempts:
            self.ports.jobs.create(any_job(id=f"{deployment.id}-plan-{attempt}", deployment=deployment.id))
        return self


def test_a_queued_deployment_has_neither_jobs_nor_plan_nor_check_run():
    view = Desk().look(any_deployment())
    assert (view.jobs, view.plan, view.check_run) == ((), None, None)


def test_the_check_run_that_shows_it_is_linked():
    desk, one = Desk(), any_deployment()
    desk.check_runs.remember(PublishedCheckRun(one.id, 42, 1, closed=False))
    assert desk.look(one).check_run == f"https://github.com/{REPOSITORY}/runs/42"


def test_each_attempt_to_plan_has_its_job():
    one = deployment_in(State.PLANNING)
    assert Desk().planned(one, 1, 2).look(one).jobs == (f"{one.id}-plan-1", f"{one.id}-plan-2")


def test_the_last_attempt_to_plan_is_seen():
    one = deployment_in(State.PLAN_FAILED)
    assert len(Desk().planned(one, 1, 2, 3).look(one).jobs) == 3


def test_jobs_that_are_forgotten_are_known_by_the_plan():
    one = deployment_in(State.APPLYING)
    one = replace(one, planned=replace(one.planned, plan=any_plan(job=f"{one.id}-plan-2")))
    assert Desk().look(one).jobs == (f"{one.id}-plan-1", f"{one.id}-plan-2", one.apply.job)


def test_the_plan_is_shown_as_it_was_made():
    desk, one = Desk(), deployment_in(State.AWAITING_REVIEW)
    desk.artifacts.put(one.planned.plan.text.key, PLAN_TEXT)
    plan = desk.look(one).plan
    assert (plan.text, plan.altered, plan.cut) == (PLAN_TEXT.decode(), False, False)


def test_a_plan_that_was_altered_is_not_shown():
    desk, one = Desk(), deployment_in(State.AWAITING_REVIEW)
    desk.artifacts.put(one.planned.plan.text.key, b"No changes.")
    plan = desk.look(one).plan
    assert (plan.text, plan.altered) == ("", True)


def test_of_a_huge_plan_the_beginning_is_shown():
    desk, one = Desk(), deployment_in(State.AWAITING_REVIEW)
    desk.artifacts.put(one.planned.plan.text.key, b"x" * (SHOWN_PLAN + 1))
    assert desk.look(one).plan.cut


def test_a_plan_that_has_expired_is_gone():
    assert Desk().look(deployment_in(State.APPLIED)).plan is None

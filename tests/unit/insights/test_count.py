"""Figures are counted when something ends, once, and read within a number of reads."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, REPOSITORY, any_drift, any_drift_finding, deployment_in
from tests.fakes.ports import With, changed, memory_ports
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.config.rules.drift import DriftState
from tidegate.deploys.rules.state import State
from tidegate.insights.count import count_deployment, count_drift
from tidegate.insights.get_insights import MOST_READS, get_insights
from tidegate.insights.rules.day import Day, DriftSeen
from tidegate.insights.rules.report import Span
from tidegate.rules.errors import Conflict, ForgeUnavailable

TODAY = f"{NOW:%Y-%m-%d}"


@pytest.fixture
def ports():
    return memory_ports({"TIDEGATE_WEB_URL": "https://tidegate.example"})


def stored(ports, state=State.APPLIED, number=1):
    deployment = deployment_in(state, number)
    ports.queues.enqueue(deployment)
    return deployment


def applied(ports):
    return sum(one.figures.applied for one in ports.insights.get(REPOSITORY, TODAY).stacks)


def test_a_deployment_counts_when_its_end_is_published_and_only_then(ports):
    running = stored(ports, State.APPLYING, 2)
    publish_check_run(ports, running.id)
    assert applied(ports) == 0
    publish_check_run(ports, stored(ports).id)
    assert applied(ports) == 1


def test_a_deployment_counts_once_however_often_it_is_published(ports):
    deployment = stored(ports)
    for _ in range(2):
        publish_check_run(ports, deployment.id, again=True)
        count_deployment(ports, deployment)
    ports.deployments.save(deployment)
    publish_check_run(ports, deployment.id)
    assert applied(ports) == 1


def test_a_deployment_counts_once_although_the_vcs_provider_failed_in_between(ports):
    deployment = stored(ports)
    ports.forge.failures.append(ForgeUnavailable("GitHub", "502"))
    with pytest.raises(ForgeUnavailable):
        publish_check_run(ports, deployment.id)
    publish_check_run(ports, deployment.id)
    assert applied(ports) == 1


def test_both_of_two_that_end_at_once_count(ports):
    first, second = stored(ports), stored(ports, number=2)
    read = ports.insights.get
    others = iter([second])

    def overtaken(repository, date):
        day = read(repository, date)
        for other in others:
            count_deployment(ports, other)
        return day

    count_deployment(changed(ports, insights=With(ports.insights, get=overtaken)), first)
    assert applied(ports) == 2


def test_a_day_that_never_stays_is_not_counted(ports):
    def moved(*_):
        raise Conflict("The figures")

    with pytest.raises(Conflict):
        count_deployment(changed(ports, insights=With(ports.insights, count=moved)), stored(ports))


def test_drift_is_kept_by_stack_with_its_age(ports):
    old = any_drift_finding(drifted_since=NOW - timedelta(hours=2), stack="prod")
    new = any_drift_finding("dns", drifted_since=NOW - timedelta(minutes=1), stack="prod")
    none = any_drift_finding("app", state=DriftState.NONE, drifted_since=None, stack="dev")
    record = any_drift(findings=(old, new, none), ended_at=NOW)
    for _ in range(2):
        count_drift(ports, record)
    day = ports.insights.get(REPOSITORY, TODAY)
    assert set(day.drift) == {DriftSeen("nightly", "prod", 2, 7200), DriftSeen("nightly", "dev", 0, 0)}
    assert day.version == 1


def test_a_run_without_an_end_is_of_now(ports):
    count_drift(ports, any_drift(findings=(any_drift_finding(drifted_since=NOW),)))
    assert ports.insights.get(REPOSITORY, f"{ports.clock.now():%Y-%m-%d}").drift


def test_reading_ends_after_some_reads_and_names_what_is_left_out(ports):
    names = [f"acme/{number:02}" for number in range(MOST_READS + 2)]
    for name in names:
        ports.insights.save(Day(name, TODAY))
    found = get_insights(ports, names, Span.MONTH)
    assert [day.repository for day in found.days] == names[:MOST_READS]
    assert list(found.left_out) == names[MOST_READS:]


def test_a_repository_of_which_a_part_was_read_is_named(ports):
    partly = With(ports.insights, read=lambda *_: ([], MOST_READS, False))
    found = get_insights(changed(ports, insights=partly), [REPOSITORY], Span.YEAR)
    assert list(found.left_out) == [REPOSITORY]

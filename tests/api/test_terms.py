"""Every surface uses the terms of the VCS provider that the installation serves, and none of another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from tests.api.scenario import QUEUE, Client, WebScenario
from tests.builders import (
    NOW,
    REPOSITORY,
    amended,
    any_deployment,
    any_layer,
    any_lock,
    any_plan,
    any_pull_request,
    any_pull_request_record,
    any_queue,
    deployment_in,
)
from tests.fakes.ports import changed, memory_ports
from tests.unit.comments.apply_scenario import MERGED, ApplyScenario
from tests.unit.comments.comment_scenario import CommentScenario
from tests.unit.comments.events_scenario import PULL
from tests.unit.pull_requests.publishing_scenario import Scenario as PublishingScenario
from tests.unit.pull_requests.pull_request_scenario import NUMBER
from tidegate.check_runs.check_run_view import present_check_run
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.ports.check_runs import PublishedCheckRun
from tidegate.pull_requests.close_applied import close_applied
from tidegate.pull_requests.rules.record import judged
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS, GITLAB_TERMS

COMMANDS = (
    "help",
    "plan",
    "plan -p nope",
    "plan -d nowhere",
    "plan name:nope",
    "apply",
    "deploy",
    "deploy --force",
    "destroy -p live/app",
    "lock",
    "unlock",
    "confirm",
    "reject",
    "cancel",
    "approve_policies",
)
#: How a pull request may be: as records hold it, and as the forge answers who asks for it.
STATES = (
    ({}, {}),
    ({"is_draft": True}, {}),
    ({"from_fork": True}, {"from_fork": True}),
    ({"base": "other"}, {"base_branch": "other"}),
    ({"is_open": False}, {"is_open": False}),
    ({"is_open": False, "merged": True}, {"is_open": False, "merged": True}),
)
#: What quotes: code, and the targets of links.
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)\s]*\)|https?://\S+", re.DOTALL)


@pytest.mark.parametrize(
    ("forge", "own", "other"), [("github", GITHUB_TERMS, GITLAB_TERMS), ("gitlab", GITLAB_TERMS, GITHUB_TERMS)]
)
def test_every_surface_has_the_terms_of_its_provider(forge, own, other):
    settings = {"TIDEGATE_FORGE": forge, "TIDEGATE_FORGE_URL": f"https://{forge}.example"}
    told = [_plain(text) for text in (*_replies(settings), *_comments(settings), *_check_runs(settings))]
    pages = [_plain(text) for text in _pages(settings)]
    foreign = re.compile(f"{other.pull_request}|{other.check_run}|{re.escape(other.sign)}{NUMBER}\\b", re.IGNORECASE)
    assert [text for text in (*told, *pages) if foreign.search(text)] == []
    for texts in (told, pages):
        assert any(own.pull_request in text for text in texts)
        assert any(own.reference(NUMBER) in text for text in texts)
    assert any(own.check_run.capitalize() in text for text in pages)


def _plain(text: str) -> str:
    """Return a text without what it quotes and escapes."""
    return QUOTED.sub("", text).replace("\\", "").replace("\u200b", "")


def _replies(settings: dict[str, str]) -> Iterator[str]:
    """Yield what is replied to comments, and what checks and records say meanwhile."""
    for known, asked in STATES:
        scenario = CommentScenario()
        scenario.ports = changed(scenario.ports, settings)
        scenario.receive()
        scenario.discover()
        scenario.pull(**known)
        scenario.forge.pull_requests[NUMBER] = replace(PULL, **asked)
        scenario.receive()
        scenario.receive("pull_request_review")
        for command in COMMANDS:
            scenario.comment(f"tidegate {command}")
        yield from _shown(scenario.forge)
        yield scenario.record.notice
        yield from (condition.message for condition in scenario.record.conditions)


def _comments(settings: dict[str, str]) -> Iterator[str]:
    """Yield comments and checks of plans, and what a pull request leaves that is applied before it is merged."""
    layers = [any_layer(state.value, state=state, plan=any_plan()) for state in LayerState]
    shown = PublishingScenario(*layers)
    shown.ports = changed(shown.ports, settings)
    shown.progress()
    shown.publish()
    yield from _shown(shown.forge)
    for is_merged in (True, False):
        scenario = ApplyScenario()
        scenario.ports = changed(scenario.ports, settings)
        scenario.comment("tidegate apply")
        if is_merged:
            scenario.end()
            scenario.push()
            yield scenario.of(MERGED).reason
        else:
            close_applied(scenario.ports, scenario.record, merged=False)
        for applied in scenario.record.applies:
            deployment = scenario.deployments.get(applied.deployment)
            yield _text(present_check_run(scenario.ports, deployment))
            yield deployment.reason
        yield from _shown(scenario.forge)


def _check_runs(settings: dict[str, str]) -> Iterator[str]:
    ports = memory_ports(settings)
    for state in State:
        yield _text(present_check_run(ports, deployment_in(state, pull_request=NUMBER)))
        yield _text(present_check_run(ports, deployment_in(state)))


def _pages(settings: dict[str, str]) -> Iterator[str]:
    """Yield pages as a reader sees them, and answers of the API."""
    wires = WebScenario(settings)
    made = {state: any_layer(state.value, state=state, plan=any_plan()) for state in LayerState}
    layers = list(made.values())
    wires.speculative_plans.create(layers)
    wires.plan_slots.take(REPOSITORY, made[LayerState.PLANNING].id, 1)
    wires.plan_slots.join(REPOSITORY, made[LayerState.WAITING].id)
    record = any_pull_request_record(layers=tuple(each.id for each in layers), discovered=any_pull_request().revision)
    wires.pull_requests.save(judged(record, layers, NOW))
    wires.deployed(any_deployment(pull_request=NUMBER))
    for number, state in enumerate(State, 2):
        wires.changed(amended(deployment_in(state, number), pull_request=NUMBER), change=f"c-{number}")
    wires.check_runs.remember(PublishedCheckRun(any_deployment().id, 1, 1, closed=False))
    head, _ = wires.queues.read(any_queue())
    wires.queues.commit(head, replace(head, lock=any_lock(pull_request=NUMBER)))
    browser, program = Client(wires).sign_in("reviewer"), Client(wires, "token-of-reader")
    paths = [
        "/",
        "/pulls",
        "/pulls?query=nope:x",
        f"/pulls/{REPOSITORY}/{NUMBER}",
        f"/repositories/{REPOSITORY}",
        QUEUE,
    ]
    for path in (*paths, *(f"/deployments/{each.id}" for each in wires.deployments.all())):
        yield browser.get(path).text
    for path in (f"/pulls/{REPOSITORY}/{NUMBER}", "/pulls", "/pulls?query=nope:x"):
        yield from _texts(program.get(f"/api/v1{path}").json)


def _texts(value: object) -> Iterable[str]:
    """Yield each text of a JSON document."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _shown(forge: object) -> Iterator[str]:
    yield from (text for _, text in forge.comments)
    yield from map(_text, forge.check_runs.values())


def _text(check_run: object) -> str:
    return f"{check_run.title}\n{check_run.summary}\n{check_run.text}"

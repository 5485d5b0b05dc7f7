"""What people read of a cluster's plan: in logs, check runs, comments, pages and on the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.clusters.clusters import a_declared_hook, a_hook, a_plan, any_cluster, any_spec, registering
from tidegate.clusters.rules.spec import GitOpsAgent
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.clusters.texts.workflow_text import workflow_text
from tidegate.deploys.rules.cluster import ClusterKind, HookFailure, HookPoint

MANAGEMENT, WORKLOAD = ClusterKind.MANAGEMENT, ClusterKind.WORKLOAD
CREATE = Workflow(MANAGEMENT, Operation.CREATE)
UPGRADE = Workflow(MANAGEMENT, Operation.UPGRADE)


def lines(text: str, words: str) -> list[str]:
    return [each for each in text.splitlines() if words in each]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda each: each.name)
def test_every_task_stands_there_in_its_order(workflow):
    plan = a_plan(workflow)
    text = workflow_text(plan, plan.cluster.name, "Because.")
    places = [text.index(f"{number:>2}. {step.title}") for number, step in enumerate(plan.steps, 1)]
    assert places == sorted(places)
    assert f"{plan.cluster.name}" in text.splitlines()[0]


def test_versions_say_what_comes_goes_and_changes():
    created = workflow_text(a_plan(CREATE), "hub", "")
    upgraded = workflow_text(a_plan(UPGRADE), "hub", "")
    deleted = workflow_text(a_plan(Workflow(WORKLOAD, Operation.DELETE)), "shop", "")
    for text, sign, version in ((created, "+", "1.33"), (upgraded, "~", "1.32 -> 1.33"), (deleted, "-", "1.32")):
        (line,) = lines(text, " kubernetes ")
        assert line.split(maxsplit=2) == [sign, "kubernetes", version]


def test_without_another_version_none_is_told():
    plan = a_plan(UPGRADE)
    assert "Versions" in workflow_text(plan, "hub", "")
    assert "Versions" not in workflow_text(replace(plan, versions=()), "hub", "")


def test_a_task_that_is_not_needed_says_why_and_has_no_hooks():
    hook = a_declared_hook(HookPoint.BEFORE, "pause-gitops-agent", name="early")
    plan = a_plan(UPGRADE, declared=any_cluster(hooks=(hook,)), spec=any_spec(gitops=GitOpsAgent.NONE))
    text = workflow_text(plan, "hub", "")
    (line,) = lines(text, "Pause the GitOps agent")
    assert "not needed: The cluster's file names no GitOps agent." in line
    assert "early" not in text


def test_hooks_stand_at_their_tasks_and_those_of_the_workflow_below():
    registrar = registering(
        CREATE,
        (HookPoint.BEFORE, "install-networking", a_hook("first")),
        (HookPoint.AFTER, "install-networking", a_hook("then", on_error=HookFailure.WARN)),
        (HookPoint.ON_ERROR, "", a_hook("rescue")),
        (HookPoint.ALWAYS, "", a_hook("clean")),
    )
    text = workflow_text(a_plan(CREATE, registrar), "hub", "")
    assert text.index("hook first") < text.index("Install the networking") < text.index("hook then")
    assert lines(text, "hook then")[0].endswith("a failure only warns")
    assert lines(text, "hook first")[0].endswith("a failure ends the workflow")
    below = text[text.index("Hooks of the workflow") :]
    assert [each.split()[0] for each in below.splitlines()[1:]] == ["rescue", "clean"]


def test_who_reviews_sees_what_a_hook_runs_and_no_control_character_reaches_a_terminal():
    registrar = registering(
        CREATE,
        (HookPoint.AFTER, "install-networking", a_hook("probe", command=("./probe", "all nodes", "\x1b[2J\n"))),
        (HookPoint.ALWAYS, "", a_hook("tell", command=(), function="chat")),
        (HookPoint.ON_ERROR, "", a_hook("own", command=(), action="write-configuration")),
    )
    text = workflow_text(a_plan(CREATE, registrar), "hub", "")
    assert r'runs ["./probe", "all nodes", "\u001b[2J\n"],' in lines(text, "hook probe")[0]
    assert "calls the function chat" in lines(text, "tell of")[0]
    assert "runs" not in lines(text, "own of")[0]


def test_nothing_to_do_is_told_with_its_reason():
    text = workflow_text(None, "hub", "It is as declared.")
    assert "hub" in text
    assert "It is as declared." in text

"""What the template promises about config updates: a runner that reaches its job alone, and who may do what."""

from __future__ import annotations

import fnmatch
import json
from typing import Any

import pytest

from tidegate.config_updates.rules.replay import bundle_key, order_key, result_key
from tidegate.deploys.adapters.job_items import job_key
from tidegate.deploys.rules.job import job_id, log_key
from tidegate_cdk.capabilities import Capability
from tidegate_cdk.function_specs import FUNCTION_OF, SPECS
from tidegate_cdk.permissions import Permission, permissions, roles
from tidegate_cdk.verbs import NEEDS

STATES = "arn:aws:states:REGION:ACCOUNT"
MACHINES = {f"{STATES}:stateMachine:tidegate-{name}" for name in ("config-update", "promotion")}
BUCKET = "<StorageArtifacts>"
ANSWERS = ("states:SendTaskSuccess", "states:SendTaskFailure")
VARIABLES = {"TIDEGATE_CONFIG_UPDATE_STATE_MACHINE", "TIDEGATE_PROMOTION_STATE_MACHINE"}


@pytest.fixture(scope="session")
def allowed(template: dict[str, Any]) -> list[Permission]:
    return [permission for permission in permissions(template) if permission.effect == "Allow"]


def on(allowed: list[Permission], role: str, action: str) -> set[str]:
    return {each for p in allowed if p.role == role and action in p.actions for each in p.resources}


def able(allowed: list[Permission], action: str, *resources: str) -> set[str]:
    """Return the functions that may do something with any of these."""
    holding = {p.role for p in allowed if action in p.actions and set(resources) & set(p.resources)}
    return {spec.name for spec in SPECS if f"Functions{spec.id}Role" in holding}


def test_the_runner_of_replays_reaches_its_job_and_its_order_and_nothing_else(allowed: list[Permission]):
    runner = [p for p in allowed if p.role == "RunnersReplayTaskRole"]
    assert {action for p in runner for action in p.actions} == {
        *("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
        *("s3:GetObject", "s3:PutObject", "s3:ListBucket"),
        *(*ANSWERS, "states:SendTaskHeartbeat"),
    }
    for action in ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"):
        (items,) = [p for p in runner if action in p.actions]
        assert items.resources == ("<StorageTable>",)
        assert items.condition == "dynamodb:LeadingKeys ForAllValues:StringLike job#*-replay-?, job#*-replay-??"
    assert on(allowed, "RunnersReplayTaskRole", "s3:GetObject") == {f"{BUCKET}/replays/*/order.json"}
    written = {"replays/*/result.json", "replays/*/commits.bundle", "logs/*-replay-?.txt", "logs/*-replay-??.txt"}
    assert on(allowed, "RunnersReplayTaskRole", "s3:PutObject") == {f"{BUCKET}/{each}" for each in written}
    (listing,) = [p for p in runner if "s3:ListBucket" in p.actions]
    assert listing.condition == "s3:prefix StringLikeIfExists replays/*/order.json"
    tokens = on(allowed, "RunnersReplayTaskRole", "states:SendTaskSuccess")
    assert tokens == {f"{STATES}:stateMachine:tidegate-config-update"}


@pytest.mark.parametrize("kind", ["replay", "plan", "apply", "speculate"])
def test_what_it_reaches_is_what_a_replay_is_stored_at_and_no_other_job(allowed: list[Permission], kind: str):
    job = job_id("config-updates-3f2a-1", kind, 12)
    (items,) = {p.condition for p in allowed if p.role == "RunnersReplayTaskRole" and "dynamodb:GetItem" in p.actions}
    keys = items.partition("StringLike ")[2].split(", ")
    assert any(fnmatch.fnmatchcase(job_key(job), key) for key in keys) is (kind == "replay")
    written = on(allowed, "RunnersReplayTaskRole", "s3:PutObject")
    assert any(fnmatch.fnmatchcase(f"{BUCKET}/{log_key(job)}", each) for each in written) is (kind == "replay")
    for key in (result_key(job), bundle_key(job)):
        assert any(fnmatch.fnmatchcase(f"{BUCKET}/{key}", each) for each in written)
    assert not any(fnmatch.fnmatchcase(f"{BUCKET}/{order_key(job)}", each) for each in written)


def test_a_replay_has_no_engine_and_nothing_of_the_installations_variables(other: dict[str, Any]):
    (task,) = [
        each["Properties"]
        for each in other["Resources"].values()
        if each["Type"] == "AWS::ECS::TaskDefinition" and each["Properties"]["Family"] == "acme-prod-replay"
    ]
    (container,) = task["ContainerDefinitions"]
    assert {each["Name"] for each in container["Environment"]} == {"TIDEGATE_TABLE", "TIDEGATE_ARTIFACT_BUCKET"}
    assert "Secrets" not in container
    assert container["ReadonlyRootFilesystem"] is True
    assert not [name for name in roles(other) if "ReplayEngine" in name]
    assert not on(list(permissions(other)), "RunnersReplayTaskRole", "sts:AssumeRole")
    (trust,) = roles(other)["RunnersReplayTaskRole"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}


def test_the_worker_of_a_config_repository_runs_the_task_of_replays_and_no_other(allowed: list[Permission]):
    families = on(allowed, "ConfigUpdateRole", "ecs:RunTask")
    assert families == {"arn:aws:ecs:REGION:ACCOUNT:task-definition/tidegate-replay:*"}
    assert on(allowed, "ConfigUpdateRole", "iam:PassRole") == {
        "<RunnersReplayTaskRole>",
        "<RunnersReplayExecutionRole>",
    }
    assert not on(allowed, "PromotionRole", "ecs:RunTask")
    for role in ("ConfigUpdateRole", "PromotionRole"):
        assert not on(allowed, role, "states:StartExecution")


def test_executions_of_config_updates_that_fail_reach_the_function_that_releases_their_queue(
    template: dict[str, Any], resources
):
    (closing,) = [
        rule
        for rule in resources("AWS::Events::Rule").values()
        if rule.get("EventPattern", {}).get("source") == ["aws.states"]
    ]
    machines = {each["Ref"] for each in closing["EventPattern"]["detail"]["stateMachineArn"] if "Ref" in each}
    names = {template["Resources"][each]["Properties"]["StateMachineName"] for each in machines}
    assert {"tidegate-config-update", "tidegate-promotion"} <= names
    (target,) = closing["Targets"]
    assert "FunctionsWorkersFunction" in json.dumps(target["Arn"])


def test_who_writes_records_of_config_repositories_reads_them_by_key_and_no_others(allowed: list[Permission]):
    keys = "dynamodb:LeadingKeys ForAllValues:StringLike updates#*"
    writing = {p.role for p in allowed if p.condition == keys and "dynamodb:PutItem" in p.actions}
    expected = {"api", "discover_roots", "git_steps", "steps", "forge_steps", "waits", "workers", "reconcile"}
    assert writing == {f"Functions{spec.id}Role" for spec in SPECS if spec.name in expected}
    reading = {p.role for p in allowed if "updates#*" in p.condition}
    assert reading == writing


def test_few_start_and_answer_executions_of_config_updates(allowed: list[Permission]):
    starting = {"api", "discover_roots", "workers", "reconcile"}
    assert able(allowed, "states:StartExecution", *MACHINES) == starting
    assert able(
        allowed, "states:DescribeExecution", *(each.replace("stateMachine", "execution") + ":*" for each in MACHINES)
    ) == {"reconcile"}
    for action in ANSWERS:
        assert able(allowed, action, *MACHINES) == starting | {"waits"}
    for action in ("states:StartExecution", *ANSWERS):
        for spec in SPECS:
            mine = on(allowed, f"Functions{spec.id}Role", action) & MACHINES
            assert mine in (set(), MACHINES)


def test_who_starts_or_finds_executions_knows_the_machines(resources):
    functions = resources("AWS::Lambda::Function")
    for spec in SPECS:
        (function,) = [each for name, each in functions.items() if name.startswith(f"Functions{spec.id}")]
        knows = {Capability.START_UPDATES, Capability.FIND_UPDATE_EXECUTIONS} & set(spec.capabilities)
        assert set(function["Environment"]["Variables"]) & VARIABLES == (VARIABLES if knows else set())


def test_orders_results_and_image_sets_are_for_who_makes_or_uses_them(allowed: list[Permission]):
    assert able(allowed, "s3:PutObject", f"{BUCKET}/replays/*/order.json") == {"forge_steps"}
    assert able(allowed, "s3:GetObject", f"{BUCKET}/replays/*") == {"git_steps", "forge_steps"}
    assert able(allowed, "s3:PutObject", f"{BUCKET}/config-updates/*") == {"api"}
    assert able(allowed, "s3:GetObject", f"{BUCKET}/config-updates/*") == {"api", "forge_steps"}


def test_what_moves_branches_answers_no_token_starts_nothing_and_runs_no_task(allowed: list[Permission]):
    assert {FUNCTION_OF[verb] for verb in ("push_replay", "push_untested", "land_update")} == {"git_steps"}
    actions = {action for p in allowed if p.role == "FunctionsGitStepsFunctionRole" for action in p.actions}
    assert not {"states:StartExecution", *ANSWERS, "ecs:RunTask", "iam:PassRole"} & actions


def test_each_verb_of_a_worker_has_its_records(allowed: list[Permission]):
    verbs = [verb for verb, needs in NEEDS.items() if {Capability.START_UPDATES, Capability.ANSWER_UPDATES} & {*needs}]
    without = [verb for verb in verbs if Capability.UPDATES not in NEEDS[verb]]
    assert without == ["runner_stopped"], "it only fails tokens"


def test_every_engine_is_denied_what_config_updates_are_stored_in_and_run_as(template: dict[str, Any]):
    """By name, beside the denial by tag: their records are in the table, their files in the bucket."""
    for kind in ("Plan", "Apply", "Speculate"):
        denied = {
            each
            for p in permissions(template)
            if (p.role, p.effect, p.actions) == (f"Runners{kind}EngineRole", "Deny", ("*",))
            for each in p.resources
        }
        assert {BUCKET, f"{BUCKET}/*", "arn:aws:dynamodb:REGION:ACCOUNT:table/tidegate-*"} <= denied
        executions = {each.replace("stateMachine", "execution") + ":any" for each in MACHINES}
        for arn in (*MACHINES, *executions, "arn:aws:ecs:REGION:ACCOUNT:task-definition/tidegate-replay:1"):
            assert any(fnmatch.fnmatchcase(arn, each) for each in denied), arn

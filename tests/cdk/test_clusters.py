"""What the template promises about clusters: a machine for each workflow and provider, and who may do what."""

from __future__ import annotations

import fnmatch
import json
import re
from typing import Any

import pytest

from tests.cdk.conftest import OTHER
from tests.cdk.context import Given
from tidegate.clusters.rules.builtin_registrars import DEFAULT
from tidegate.clusters.rules.construct import machine_hash
from tidegate.clusters.rules.installed import from_text, installed_registrars
from tidegate.clusters.rules.order import order_key, result_key
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.workflow import WORKFLOWS, machine_name
from tidegate.deploys.adapters.job_items import job_key
from tidegate.deploys.rules.job import job_id, log_key
from tidegate_cdk.cluster_settings import read_cluster_settings
from tidegate_cdk.function_specs import SPECS
from tidegate_cdk.permissions import Permission, permissions
from tidegate_cdk.runner_settings import InvalidContext
from tidegate_cdk.sources import ROOT

FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:approve"
HOOKS = OTHER["cluster_hooks"]
STATES = "arn:aws:states:REGION:ACCOUNT"
BUCKET = "<StorageArtifacts>"
NAMES = {machine_name(workflow, provider) for workflow in WORKFLOWS for provider in PROVIDERS}


@pytest.fixture(scope="session")
def allowed(template: dict[str, Any]) -> list[Permission]:
    return [permission for permission in permissions(template) if permission.effect == "Allow"]


def on(allowed: list[Permission], role: str, action: str) -> set[str]:
    return {each for p in allowed if p.role == role and action in p.actions for each in p.resources}


def able(allowed: list[Permission], action: str, *resources: str) -> set[str]:
    """Return the functions that may do something with any of these."""
    holding = {p.role for p in allowed if action in p.actions and set(resources) & set(p.resources)}
    return {spec.name for spec in SPECS if f"Functions{spec.id}Role" in holding}


def definitions(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the definitions of the machines of workflows, by name without prefix."""
    every = (
        each["Properties"]
        for each in document["Resources"].values()
        if each["Type"] == "AWS::StepFunctions::StateMachine"
    )
    named = {each["StateMachineName"].partition("-cluster-")[2]: each for each in every}
    return {f"cluster-{name}": json.loads(each["DefinitionString"]) for name, each in named.items() if "-" in name}


def test_there_is_a_machine_for_each_workflow_and_provider(template: dict[str, Any]):
    assert set(definitions(template)) == NAMES


def test_the_template_has_room(template_file):
    """CloudFormation takes 1 MB and 500 resources; definitions of workflows are files beside the template."""
    text = template_file.read_text(encoding="utf-8")
    assert len(text) < 900_000
    assert len(json.loads(text)["Resources"]) < 400
    for resource in json.loads(text)["Resources"].values():
        name = resource.get("Properties", {}).get("StateMachineName", "")
        assert ("DefinitionS3Location" in resource.get("Properties", {})) is any(each in name for each in NAMES)


def test_hooks_of_the_installation_are_states_of_its_machines(other: dict[str, Any], template: dict[str, Any]):
    upgrade = definitions(other)["cluster-management-upgrade-simulated"]["States"]
    assert {name for name in upgrade if name.endswith("of installation")} == {
        "Run the hook tell of installation",
        "Run the hook approve of installation",
    }
    create = definitions(other)["cluster-workload-create-terraform"]["States"]
    assert "Run the hook once of installation" in create
    assert "of installation" not in json.dumps(definitions(template))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_machine_takes_plans_that_were_made_with_the_hooks_that_plans_are_given(other: dict[str, Any], workflow):
    known = variables(other, "acme-prod-plan")
    names = known["TIDEGATE_CLUSTER_REGISTRARS"].split(",")
    registrars = installed_registrars(from_text(known["TIDEGATE_CLUSTER_HOOKS"]), names)
    for provider in PROVIDERS.values():
        machine = definitions(other)[machine_name(workflow, provider.name)]
        payload = machine["States"]["Lock the cluster"]["Arguments"]["Payload"]
        assert payload["machine"] == machine_hash(workflow, provider, registrars)


def variables(document: dict[str, Any], family: str) -> dict[str, Any]:
    (task,) = [
        each["Properties"]
        for each in document["Resources"].values()
        if each["Type"] == "AWS::ECS::TaskDefinition" and each["Properties"]["Family"] == family
    ]
    (container,) = task["ContainerDefinitions"]
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def test_only_what_plans_clusters_knows_the_installations_hooks(other: dict[str, Any], template: dict[str, Any]):
    for kind in ("plan", "speculate", "apply", "replay", "task"):
        for name in ("TIDEGATE_CLUSTER_HOOKS", "TIDEGATE_CLUSTER_REGISTRARS"):
            knows = name in variables(other, f"acme-prod-{kind}")
            assert knows is (kind in {"plan", "speculate"})
            assert name not in variables(template, f"tidegate-{kind}")
    assert variables(other, "acme-prod-task")["TIDEGATE_CLUSTER_SECRETS"] == "acme-prod/clusters"


def test_only_functions_that_are_listed_can_be_called_by_tasks_of_clusters(other: dict[str, Any], allowed):
    called = on(list(permissions(other)), "ClusterTaskRole", "lambda:InvokeFunction")
    own = {each for each in called if each.startswith("<")}
    assert called - own == {FUNCTION, FUNCTION.replace("approve", "listed")}
    assert own == {"<FunctionsStepsFunction>:*", "<FunctionsForgeStepsFunction>:*"}
    assert on(allowed, "ClusterTaskRole", "lambda:InvokeFunction") == own


def test_workflows_call_one_function_and_start_their_tasks_and_what_handles_errors(allowed: list[Permission]):
    role = "ClusterWorkflowsRole"
    assert on(allowed, role, "lambda:InvokeFunction") == {"<FunctionsStepsFunction>:*"}
    children = {f"{STATES}:stateMachine:tidegate-cluster-{each}" for each in ("task", "error")}
    assert on(allowed, role, "states:StartExecution") == children
    for each in ("ecs:RunTask", "iam:PassRole", "states:SendTaskSuccess"):
        assert not on(allowed, role, each)


def test_the_terraform_machine_starts_workflows_of_clusters_and_learns_of_their_end(allowed: list[Permission]):
    started = on(allowed, "TerraformRole", "states:StartExecution")
    for name in NAMES:
        assert any(fnmatch.fnmatchcase(f"{STATES}:stateMachine:tidegate-{name}", each) for each in started), name
    for name in ("cluster-task", "cluster-error", "deploy", "drift"):
        assert not any(fnmatch.fnmatchcase(f"{STATES}:stateMachine:tidegate-{name}", each) for each in started), name
    executions = on(allowed, "TerraformRole", "states:StopExecution")
    assert executions == on(allowed, "TerraformRole", "states:DescribeExecution")
    assert any(fnmatch.fnmatchcase(f"{STATES}:execution:tidegate-{min(NAMES)}:d1", each) for each in executions)
    rule = "arn:aws:events:REGION:ACCOUNT:rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"
    for role in ("TerraformRole", "ClusterTaskRole", "ClusterErrorRole", "ClusterWorkflowsRole"):
        assert on(allowed, role, "events:PutRule") == on(allowed, role, "events:PutTargets") == {rule}


def test_a_task_starts_the_terraform_machine_alone_and_learns_of_its_end(allowed: list[Permission]):
    role = "ClusterTaskRole"
    [machine] = on(allowed, role, "states:StartExecution")
    assert "Terraform" in machine or machine == f"{STATES}:stateMachine:tidegate-terraform"
    ended = on(allowed, role, "states:StopExecution")
    assert ended == on(allowed, role, "states:DescribeExecution") == {f"{STATES}:execution:tidegate-terraform:*"}


def test_executions_of_clusters_that_end_early_reach_the_function_that_gives_back_what_they_hold(
    template: dict[str, Any], resources
):
    (closing,) = [
        rule
        for rule in resources("AWS::Events::Rule").values()
        if rule.get("EventPattern", {}).get("source") == ["aws.states"]
    ]
    machines = closing["EventPattern"]["detail"]["stateMachineArn"]
    named = {template["Resources"][each["Ref"]]["Properties"]["StateMachineName"] for each in machines if "Ref" in each}
    begin = tuple(each["prefix"]["Fn::Join"][1][-1].rpartition(":")[2] for each in machines if "prefix" in each)
    assert "tidegate-cluster-error" in named
    assert all(f"tidegate-{name}".startswith(begin) for name in NAMES)
    assert not "tidegate-cluster-task".startswith(begin), "its workflow catches it"


def test_the_runner_of_tasks_reaches_its_job_its_order_plans_and_what_is_stored_of_clusters(allowed: list[Permission]):
    role, job = "RunnersTaskTaskRole", job_id("d1", "task", 123)
    (items,) = {p.condition for p in allowed if p.role == role and "dynamodb:GetItem" in p.actions}
    keys = items.partition("StringLike ")[2].split(", ")
    assert any(fnmatch.fnmatchcase(job_key(job), key) for key in keys)
    assert not any(fnmatch.fnmatchcase(job_key("d1-apply-1"), key) for key in keys)
    written = on(allowed, role, "s3:PutObject")
    for key in (result_key(job), log_key(job), "clusters/acme/infra/fleet/backup.json"):
        assert any(fnmatch.fnmatchcase(f"{BUCKET}/{key}", each) for each in written), key
    assert not any(fnmatch.fnmatchcase(f"{BUCKET}/{order_key(job)}", each) for each in written)
    assert not any(fnmatch.fnmatchcase(f"{BUCKET}/plans/d1-plan-1/plan.tfplan", each) for each in written)
    assert on(allowed, role, "s3:DeleteObject") == {f"{BUCKET}/clusters/*"}
    assert on(allowed, role, "states:SendTaskSuccess") == {f"{STATES}:stateMachine:tidegate-cluster-task"}
    assert on(allowed, role, "secretsmanager:GetSecretValue") == {
        "arn:aws:secretsmanager:REGION:ACCOUNT:secret:tidegate/clusters/*"
    }


def test_the_engine_of_tasks_has_the_rights_of_applies(other: dict[str, Any]):
    def rights(role: str) -> list[tuple[Any, ...]]:
        every = [p for p in permissions(other) if p.role == role and p.effect == "Allow"]
        return sorted((p.actions, p.resources, p.condition) for p in every)

    assert rights("RunnersTaskEngineRole") == rights("RunnersApplyEngineRole") != []


def test_every_engine_is_denied_what_clusters_are_recorded_in_stored_in_and_run_as(template: dict[str, Any]):
    for kind in ("Plan", "Apply", "Speculate", "Task"):
        denied = {
            each
            for p in permissions(template)
            if (p.role, p.effect, p.actions) == (f"Runners{kind}EngineRole", "Deny", ("*",))
            for each in p.resources
        }
        assert {BUCKET, f"{BUCKET}/*", "arn:aws:dynamodb:REGION:ACCOUNT:table/tidegate-*"} <= denied
        for arn in (
            *(f"{STATES}:stateMachine:tidegate-{name}" for name in (*NAMES, "cluster-task", "cluster-error")),
            f"{STATES}:execution:tidegate-cluster-task:any",
            "arn:aws:ecs:REGION:ACCOUNT:task-definition/tidegate-task:1",
            "arn:aws:secretsmanager:REGION:ACCOUNT:secret:tidegate/clusters/acme/infra/fleet-AbCdEf",
        ):
            assert any(fnmatch.fnmatchcase(arn, each) for each in denied), (kind, arn)


def test_few_write_records_of_clusters_and_start_what_handles_errors(allowed: list[Permission]):
    keys = "dynamodb:LeadingKeys ForAllValues:StringLike clusters#*"
    writing = {p.role for p in allowed if p.condition == keys and "dynamodb:PutItem" in p.actions}
    assert writing == {f"Functions{spec.id}Role" for spec in SPECS if spec.name in {"api", "steps", "workers"}}
    reading = {p.role for p in allowed if "clusters#*" in p.condition} - writing
    assert reading == {
        f"Functions{spec.id}Role" for spec in SPECS if spec.name in {"forge_steps", "pull_request_steps"}
    }
    error = f"{STATES}:stateMachine:tidegate-cluster-error"
    assert able(allowed, "states:StartExecution", error) == {"api", "workers"}
    task = f"{STATES}:stateMachine:tidegate-cluster-task"
    assert able(allowed, "states:SendTaskFailure", task) == {"waits"}
    assert able(allowed, "states:SendTaskSuccess", task) == set()


def test_plans_and_orders_of_clusters_are_for_who_uses_them(allowed: list[Permission]):
    plan = f"{BUCKET}/plans/*-plan-?/cluster.json"
    assert able(allowed, "s3:GetObject", plan) == {"steps", "forge_steps"}
    assert able(allowed, "s3:PutObject", f"{BUCKET}/cluster-tasks/*/order.json") == {"steps"}
    assert able(allowed, "s3:GetObject", f"{BUCKET}/cluster-tasks/*/result.json") == {"steps"}


def test_hooks_of_the_context_are_read():
    settings = read_cluster_settings(Given(cluster_hooks=HOOKS))
    assert [each.hook.name for each in settings.hooks] == ["tell", "approve", "once"]
    assert settings.functions == (FUNCTION, FUNCTION.replace("approve", "listed"))
    assert read_cluster_settings(Given()).hooks == ()


@pytest.mark.parametrize(
    ("hooks", "named"),
    [
        ("tell", "cluster_hooks"),
        (["tell"], "cluster_hooks"),
        ([{"name": "x", "when": "always", "run": ["x"]}], "run"),
        ([{"name": "x", "when": "always", "function": "approve"}], "ARN of a Lambda function"),
        ([{"name": "x", "when": "always", "function": f"{FUNCTION}:1"}], "without a version"),
        ([{"name": "x", "command": ["x"]}], "when"),
        ([{"name": "x", "when": "later", "command": ["x"]}], "when"),
        ([{"name": "x", "when": "always", "workflow": "create", "command": ["x"]}], "workflow"),
        ([{"name": "x", "when": "before", "task": "unknown", "command": ["x"]}], "task"),
        ([{"name": "x", "when": "before", "task": "back-up", "workflow": "workload-create", "command": ["x"]}], "task"),
        ([{"name": "x", "when": "always", "command": "x"}], "command"),
        ([{"name": "x", "when": "always", "command": ["x"], "on_error": "ignore"}], "on_error"),
        ([{"name": "x", "when": "always", "command": ["x"], "seconds": "0"}], "seconds"),
        ([{"name": "x", "when": "always", "command": ["x"], "seconds": "1h"}], "seconds"),
        ([{"name": "x", "when": "always", "command": ["x"]}] * 2, "installation/x"),
        ([{"name": "x", "when": "always"}], "exactly one"),
        ([{"name": f"x{each}", "function": f"{FUNCTION}{each:040}"} for each in range(30)], "bytes"),
    ],
)
def test_hooks_that_cannot_be_used_are_refused_with_what_is_allowed(hooks, named):
    with pytest.raises(InvalidContext, match=named):
        read_cluster_settings(Given(cluster_hooks=hooks))


def test_built_in_registrars_come_before_the_installations():
    names = [each.name for each in installed_registrars(())]
    assert names == [*(each.name for each in DEFAULT), "installation"]
    assert list(read_cluster_settings(Given()).registrars) == names


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([], ("installation",)),
        (["packages", "iam-authentication"], ("packages", "iam-authentication", "installation")),
        (["installation", "gitops"], ("installation", "gitops")),
        ("gitops, resources", ("gitops", "resources", "installation")),
    ],
)
def test_an_installation_chooses_registrars_and_their_order(given, names):
    assert read_cluster_settings(Given(cluster_registrars=given)).registrars == names


@pytest.mark.parametrize(("given", "named"), [(["iam"], "iam-authentication"), (["gitops"] * 2, "once"), (7, "list")])
def test_registrars_that_there_are_not_are_refused_with_those_that_there_are(given, named):
    with pytest.raises(InvalidContext, match=named):
        read_cluster_settings(Given(cluster_registrars=given))


def test_iam_authentication_is_states_of_the_machines_of_an_installation_that_has_it(other, template):
    """A secret after the bootstrap cluster, the authenticator after the workload cluster."""
    places = {
        "cluster-management-create-command": ("Create the bootstrap cluster", "create-authority"),
        "cluster-workload-create-command": ("Create the workload cluster", "install-authenticator"),
    }
    for machine, (task, hook) in places.items():
        states, state = definitions(other)[machine]["States"], f"Run the hook {hook} of iam-authentication"
        assert states[task]["Next"] == state
        assert state not in definitions(template)[machine]["States"]


def test_the_settings_of_the_documentation_are_in_order():
    page = (ROOT / "docs/clusters.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    settings = read_cluster_settings(Given(**json.loads(example)))
    assert settings.registrars[1] == "iam-authentication"
    assert {each.hook.name for each in settings.hooks} == {"approve", "tell"}

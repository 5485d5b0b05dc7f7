"""Plans on Lambda: what the template has for it and only then, and what keeps an installation from it."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import Any

import pytest

from tests.cdk.context import IMAGE, Given
from tests.stepfunctions.machines import read
from tidegate.deploys.rules.plan_runner import has_tenant_isolation
from tidegate_cdk.asl_state_machine import without_states
from tidegate_cdk.plan_runner import LAMBDA_STATES, PlanRunnerSettings, obstacle, plans_on_lambda, read_plan_runner
from tidegate_cdk.runner_settings import InvalidContext, read_runner_settings
from tidegate_cdk.site_settings import read_site_settings

NETWORK = MappingProxyType({"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0"]})


def functions(template: dict[str, Any], kind: str = "AWS::Lambda::Function") -> dict[str, dict[str, Any]]:
    every = template["Resources"].items()
    return {name: each for name, each in every if each["Type"] == kind and "PlanFunctions" in name}


def test_where_plans_run_on_fargate_nothing_is_made_for_lambda(template):
    text = json.dumps(template)
    for word in (
        "PlanFunctions",
        "StartOnLambda",
        "TIDEGATE_PLAN_FUNCTION",
        "runner.on_lambda",
        "runner#*",
        *LAMBDA_STATES,
    ):
        assert word not in text, word


@pytest.mark.parametrize("name", ["terraform", "pull_request"])
def test_the_state_machines_have_neither_choice_nor_start_then(name):
    text = read(name).text
    pruned = without_states(text, LAMBDA_STATES)
    assert "Where does the plan run?" in text
    for word in ("Where does the plan run?", *LAMBDA_STATES, "StartOnLambda"):
        assert word not in pruned
    assert without_states(text, ()) == text
    states = json.loads(pruned)["States"]
    inner = states.get("Plan all that it changes", {}).get("ItemProcessor", {}).get("States", states)
    assert inner["Begin the plan"]["Next"] == "Start a runner for the plan"
    whole = json.loads(text)["States"]
    kept = whole.get("Plan all that it changes", {}).get("ItemProcessor", {}).get("States", whole)
    assert set(kept) - set(inner) == {"Where does the plan run?", *LAMBDA_STATES}
    assert {name: state for name, state in kept.items() if name in inner and name != "Begin the plan"} == {
        name: state for name, state in inner.items() if name != "Begin the plan"
    }


def test_a_release_is_named_in_every_function_so_that_each_has_a_new_version(own):
    made = [each["Properties"] for each in own["Resources"].values() if each["Type"] == "AWS::Lambda::Function"]
    assert {each["Environment"]["Variables"].get("TIDEGATE_RELEASE") for each in made} == {"2026.11"}


def test_a_plan_on_lambda_has_the_tasks_image_role_and_variables(own):
    made = [each["Properties"] for each in functions(own).values()]
    assert len(made) == 2
    tasks = [each["Properties"] for each in own["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition"]
    roles = {json.dumps(task["TaskRoleArn"]): task["ContainerDefinitions"][0] for task in tasks}
    for function in made:
        container = roles[json.dumps(function["Role"])]
        assert re.findall("[0-9a-f]{64}", json.dumps(function["Code"])) == re.findall(
            "[0-9a-f]{64}", json.dumps(container["Image"])
        )
        variables = {each["Name"]: each["Value"] for each in container["Environment"]}
        assert variables.items() <= function["Environment"]["Variables"].items()
        assert function["TenancyConfig"] == {"TenantIsolationMode": "PER_TENANT"}
        assert (function["Timeout"], function["EphemeralStorage"]) == (900, {"Size": 10240})
        assert function["ImageConfig"]["EntryPoint"] == ["python", "-m", "runner.on_lambda"]
        assert function["VpcConfig"]["SubnetIds"] == ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
        assert "TracingConfig" not in function


def test_a_failed_call_is_not_repeated_and_is_told(own):
    configs = functions(own, "AWS::Lambda::EventInvokeConfig")
    assert len(configs) == 2
    for config in configs.values():
        properties = config["Properties"]
        assert (properties["MaximumRetryAttempts"], properties["MaximumEventAgeInSeconds"]) == (0, 60)
        assert "MessagingBus" in json.dumps(properties["DestinationConfig"]["OnFailure"])
        assert config["UpdateReplacePolicy"] == "Retain"


def test_the_role_of_a_plan_invokes_nothing_and_tells_the_bus_of_failed_calls_alone(own):
    policies = [each["Properties"] for each in own["Resources"].values() if each["Type"] == "AWS::IAM::Policy"]
    for kind in ("Plan", "Speculate"):
        (policy,) = [each for each in policies if f"Runners{kind}TaskRole" in json.dumps(each["Roles"])]
        statements = policy["PolicyDocument"]["Statement"]
        assert "lambda:" not in json.dumps([each["Action"] for each in statements])
        (told,) = [each for each in statements if "events:PutEvents" in each["Action"]]
        assert told["Action"] == "events:PutEvents"
        assert "MessagingBus" in json.dumps(told["Resource"])
        assert told["Condition"] == {
            "StringEquals": {
                "events:source": "lambda",
                "events:detail-type": "Lambda Function Invocation Result - Failure",
            }
        }


def test_waits_is_invoked_by_rules_and_state_machines_alone(own):
    resources = own["Resources"].items()
    (waits,) = [name for name, each in resources if each["Type"] == "AWS::Lambda::Function" and "WaitsFunction" in name]
    permissions = [each["Properties"] for _, each in resources if each["Type"] == "AWS::Lambda::Permission"]
    invoking = [each for each in permissions if waits in json.dumps(each["FunctionName"])]
    assert {each["Principal"] for each in invoking} == {"events.amazonaws.com"}
    assert all("SourceArn" in each for each in invoking)
    granted = {
        re.sub("[0-9A-F]{8}$", "", role["Ref"])
        for _, each in resources
        if each["Type"] == "AWS::IAM::Policy"
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
        if waits in json.dumps(statement["Resource"])
        for role in each["Properties"]["Roles"]
    }
    machines = {"TerraformRole", "DeployRole", "PullRequestRole", "ConfigUpdateRole", "PromotionRole"}
    assert granted == machines & granted


def problem(context: dict[str, Any], region: str = "eu-west-1") -> str:
    given = Given(context)
    return obstacle(read_runner_settings(given), read_site_settings(given), region)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"runner_image": "ghcr.io/acme/runner@sha256:" + "0a" * 32}, "Lambda needs an image in ECR"),
        ({"runner_image": IMAGE.replace("eu-west-1", "us-east-1")}, "in its own region"),
        ({"runner_secrets": {"TF_VAR_token": "acme/token"}}, "runner_secrets"),
        ({"runner_variables": {"TF_VAR_a": "a" * 1500, "TF_VAR_b": "b" * 1500}}, "has room for 2800"),
        ({**NETWORK, "runner_public_ip": "true"}, "subnets behind NAT"),
    ],
)
def test_what_keeps_plans_from_lambda_is_told_and_auto_goes_without(context, said):
    given = Given(context)
    assert said in problem(context)
    runners, site = read_runner_settings(given), read_site_settings(given)
    with pytest.raises(InvalidContext, match="Context key plan_runner"):
        plans_on_lambda(PlanRunnerSettings("lambda", 3008), runners, site, "eu-west-1")
    assert not plans_on_lambda(PlanRunnerSettings("auto", 3008), runners, site, "eu-west-1")


@pytest.mark.parametrize("context", [{}, {"runner_image": IMAGE}, dict(NETWORK)])
def test_what_does_not_keep_plans_from_lambda(context):
    assert problem(context) == ""
    given = Given(context)
    runners, site = read_runner_settings(given), read_site_settings(given)
    for runner, is_there in (("fargate", False), ("auto", True), ("lambda", True)):
        assert plans_on_lambda(PlanRunnerSettings(runner, 3008), runners, site, "") is is_there


def test_regions_without_tenant_isolation_are_known():
    assert "ap-southeast-6" in problem({}, "ap-southeast-6")
    for region in ("ap-southeast-6", "us-gov-west-1", "cn-north-1", "us-iso-east-1", "eusc-de-east-1"):
        assert not has_tenant_isolation(region)
    assert has_tenant_isolation("eu-west-1")


def test_settings_that_lambda_does_not_have_are_refused():
    assert read_plan_runner(Given({})) == PlanRunnerSettings("fargate", 3008)
    assert read_plan_runner(Given({"plan_runner": "auto", "plan_runner_memory": "10240"})).size.startswith("10240 MB")
    for key, value in (("plan_runner", "ecs"), ("plan_runner_memory", 10241), ("plan_runner_memory", "much")):
        with pytest.raises(InvalidContext, match=key):
            read_plan_runner(Given({key: value}))

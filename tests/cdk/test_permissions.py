"""What each role may do: nothing that no one asked for, and what no local run can show."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import aws_cdk
import pytest

from tidegate_cdk.permissions import PAGE, Permission, page, permissions, roles

#: Actions that AWS defines without a resource.
WITHOUT_RESOURCE = {
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "ecr:GetAuthorizationToken",
    "ecs:ListTasks",  # It knows container instances only, which Fargate has none of.
    "logs:CreateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies",
    "logs:GetLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:UpdateLogDelivery",
}
KINDS = ("Plan", "Apply", "Speculate")
#: What the runner of a speculative plan may write: nothing that an apply would read.
SPECULATIVE = {
    f"{kind}/*-speculate-{number}{end}" for kind, end in (("plans", "/*"), ("logs", ".txt")) for number in ("?", "??")
}
ROLES = (
    ("DeployRole", "deploy"),
    ("TerraformRole", "terraform"),
    ("PullRequestRole", "pull_request"),
    ("DriftRole", "drift"),
    ("ConfigUpdateRole", "config_update"),
    ("PromotionRole", "promotion"),
)
#: The kinds of tasks that a machine runs.
TASKS = {
    "TerraformRole": ("Plan", "Apply"),
    "PullRequestRole": ("Speculate",),
    "DriftRole": ("Speculate",),
    "ConfigUpdateRole": ("Replay",),
    "ClusterTaskRole": ("Task",),
}
TOKENS = {"states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat"}


def _of(allowed: list[Permission], role: str) -> dict[str, set[tuple[str, str]]]:
    """Return the actions of a role, each with the resources and conditions that it is allowed on."""
    found: dict[str, set[tuple[str, str]]] = {}
    for permission in allowed:
        if permission.role == role:
            for action in permission.actions:
                found.setdefault(action, set()).update((on, permission.condition) for on in permission.resources)
    return found


def test_the_page_that_people_review_shows_the_template(template: dict[str, Any]):
    assert PAGE.read_text(encoding="utf-8") == page(template), "run `make docs` and review what changed"


def test_no_role_is_allowed_an_action_by_wildcard(allowed: list[Permission]):
    assert not [(p.role, action) for p in allowed for action in p.actions if "*" in action]


def test_every_resource_that_exists_is_named(allowed: list[Permission]):
    for permission in allowed:
        if "*" in permission.resources:
            assert set(permission.actions) <= WITHOUT_RESOURCE, permission.role


def test_wildcards_within_resources_are_prefixes_of_one_thing(allowed: list[Permission]):
    shapes = (
        r"<StorageArtifacts>/(plans|logs|errored)/\*",
        r"<Functions\w+Function>:\*",
        r"<StorageArtifacts>/(configuration/)?policies/\*",
        r"<StorageArtifacts>/(plans|logs)/\*-speculate-(\?){1,2}(/\*|/(cluster-)?plan\.json|\.txt)",
        r"<StorageArtifacts>/plans/\*-plan-(\?){1,2}/(cluster-)?plan\.json",
        r"<StorageArtifacts>/plans/\*/lock\.hcl",
        r"<StorageArtifacts>/plans/\*-plan-(\?){1,2}/cluster\.json",
        r"<StorageArtifacts>/clusters/\*",
        r"<StorageArtifacts>/cluster-tasks/\*/((order|result)\.json|diagnostics\.\*)",
        r"<StorageArtifacts>/logs/\*-task-(\?){1,3}\.txt",
        r"<StorageArtifacts>/(replays|config-updates)/\*",
        r"<StorageArtifacts>/replays/\*/(order\.json|result\.json|commits\.bundle)",
        r"<StorageArtifacts>/logs/\*-replay-(\?){1,2}\.txt",
        r"arn:aws:states:REGION:ACCOUNT:execution:tidegate-(deploy|terraform|(pull-request|drift)(/Layers)?):\*",
        r"arn:aws:states:REGION:ACCOUNT:execution:tidegate-(config-update|promotion):\*",
        r"arn:aws:states:REGION:ACCOUNT:execution:tidegate-cluster-(task|error|\*):\*",
        r"arn:aws:states:REGION:ACCOUNT:(stateMachine:tidegate-cluster-(management|workload)-\*)",
        r"arn:aws:states:REGION:ACCOUNT:(execution:tidegate-cluster-(management|workload)-\*:\*)",
        r"arn:aws:secretsmanager:REGION:ACCOUNT:secret:tidegate/clusters/\*",
        r"arn:aws:scheduler:REGION:ACCOUNT:schedule/tidegate-drift/\*",
        r"arn:aws:ecs:REGION:ACCOUNT:task-definition/tidegate-(plan|apply|speculate|replay|task):\*",
        r"arn:aws:ecs:REGION:ACCOUNT:task/<RunnersCluster>/\*",
        r"arn:aws:secretsmanager:REGION:ACCOUNT:secret:[\w/-]+-\?{6}",
    )
    for permission in allowed:
        for on in permission.resources:
            if on != "*" and re.search(r"[*?]", on):
                assert any(re.fullmatch(shape, on) for shape in shapes), (permission.role, on)


def test_the_apps_secrets_are_created_once_and_never_changed(allowed: list[Permission]):
    """CreateSecret refuses a name that exists; nothing of Tidegate may change or delete one."""
    actions = {(p.role, action) for p in allowed for action in p.actions if action.startswith("secretsmanager:")}
    assert {role for role, action in actions if action == "secretsmanager:CreateSecret"} == {"FunctionsApiFunctionRole"}
    known = {f"secretsmanager:{verb}" for verb in ("GetSecretValue", "CreateSecret", "DescribeSecret")}
    assert {action for _, action in actions} <= known
    created = {on for p in allowed if "secretsmanager:CreateSecret" in p.actions for on in p.resources}
    secret = "arn:aws:secretsmanager:REGION:ACCOUNT:secret:tidegate/{}{}"
    names, ends = ("github-app", "webhook-secret"), ("", "-??????")
    assert created == {secret.format(name, end) for name in names for end in ends}, "one that does not exist has no end"


def test_tasks_are_stopped_and_listed_in_the_runners_cluster_only(allowed: list[Permission]):
    stopping = [permission for permission in allowed if {"ecs:StopTask", "ecs:ListTasks"} & set(permission.actions)]
    assert all("ecs:cluster" in permission.condition for permission in stopping)
    may = {action: {p.role for p in stopping if action in p.actions} for action in ("ecs:StopTask", "ecs:ListTasks")}
    functions = ("FunctionsForgeSteps", "FunctionsSteps", "PullRequestSteps", "Reconcile", "FunctionsApi")
    assert may["ecs:StopTask"] == {role for role in may["ecs:StopTask"] if any(name in role for name in functions)}
    assert len(may["ecs:StopTask"]) == len(functions)
    assert len(may["ecs:ListTasks"]) == 1


def test_every_function_and_task_has_a_role_of_its_own(template: dict[str, Any], resources):
    used = [str(f["Role"]) for f in resources("AWS::Lambda::Function").values()]
    for task in resources("AWS::ECS::TaskDefinition").values():
        used += [str(task["TaskRoleArn"]), str(task["ExecutionRoleArn"])]
    machines = resources("AWS::StepFunctions::StateMachine")
    # The workflows of clusters differ in their states, not in what they may do.
    used += [str(machine["RoleArn"]) for name, machine in machines.items() if not name.startswith("ClusterWorkflows")]
    used += {str(machine["RoleArn"]) for name, machine in machines.items() if name.startswith("ClusterWorkflows")}
    assert not [role for role, count in Counter(used).items() if count > 1]
    assert len(roles(template)) == len(used) + len(
        ["plan engine", "apply engine", "speculate engine", "task engine", "flow log", "schedules"]
    )


def test_no_function_has_a_managed_policy(template: dict[str, Any]):
    assert [name for name, role in roles(template).items() if role.get("ManagedPolicyArns")] == [
        "RunnersPlanEngineRole",
        "RunnersSpeculateEngineRole",
    ]


def test_roles_are_passed_only_to_tasks_and_only_those_of_the_task_definitions(allowed: list[Permission]):
    to_scheduler = "iam:PassedToService StringEquals scheduler.amazonaws.com"
    passing = [p for p in allowed if "iam:PassRole" in p.actions and p.condition != to_scheduler]
    assert {permission.role for permission in passing} == set(TASKS)
    for permission in passing:
        kinds = TASKS[permission.role]
        assert permission.actions == ("iam:PassRole",)
        assert permission.condition == "iam:PassedToService StringEquals ecs-tasks.amazonaws.com"
        assert set(permission.resources) <= {
            f"<Runners{kind}{role}>" for kind in kinds for role in ("TaskRole", "ExecutionRole")
        }


def test_the_deploy_machine_may_run_the_terraform_machine_and_wait_for_its_end(allowed: list[Permission]):
    machine = _of(allowed, "DeployRole")
    arn = "arn:aws:states:REGION:ACCOUNT"
    assert machine["states:StartExecution"] == {(f"{arn}:stateMachine:tidegate-terraform", "")}
    for action in ("states:DescribeExecution", "states:StopExecution"):
        assert machine[action] == {(f"{arn}:execution:tidegate-terraform:*", "")}
    rule = "arn:aws:events:REGION:ACCOUNT:rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"
    for action in ("events:PutTargets", "events:PutRule", "events:DescribeRule"):
        assert machine[action] == {(rule, "")}


def test_the_terraform_machine_may_run_its_two_tasks_in_its_cluster(allowed: list[Permission]):
    machine = _of(allowed, "TerraformRole")
    family = "arn:aws:ecs:REGION:ACCOUNT:task-definition/tidegate-"
    inside = "ecs:cluster ArnEquals <RunnersCluster>"
    assert machine["ecs:RunTask"] == {(f"{family}plan:*", inside), (f"{family}apply:*", inside)}
    started = {on for on, _ in machine["states:StartExecution"]}
    assert started == {
        f"arn:aws:states:REGION:ACCOUNT:stateMachine:tidegate-cluster-{kind}-*" for kind in ("management", "workload")
    }


@pytest.mark.parametrize(("role", "name"), [("PullRequestRole", "pull-request"), ("DriftRole", "drift")])
def test_what_does_not_deploy_may_run_the_task_that_only_reads_and_its_own_items(
    allowed: list[Permission], role: str, name: str
):
    machine = _of(allowed, role)
    family = "arn:aws:ecs:REGION:ACCOUNT:task-definition/tidegate-speculate:*"
    assert machine["ecs:RunTask"] == {(family, "ecs:cluster ArnEquals <RunnersCluster>")}
    states = "arn:aws:states:REGION:ACCOUNT"
    assert machine["states:StartExecution"] == {(f"{states}:stateMachine:tidegate-{name}", "")}
    for action in ("states:DescribeExecution", "states:StopExecution"):
        executions = (f"{states}:execution:tidegate-{name}{of}:*" for of in ("", "/Layers"))
        assert machine[action] == {(arn, "") for arn in executions}


@pytest.mark.parametrize("role", TASKS)
def test_what_runs_tasks_may_tag_them_as_they_start_and_no_others(allowed: list[Permission], role: str):
    """ECS refuses to start a task that gets tags, also those of its definition, to who may not tag it."""
    tagging = _of(allowed, role)["ecs:TagResource"]
    tasks = "arn:aws:ecs:REGION:ACCOUNT:task/<RunnersCluster>/*"
    assert tagging == {(tasks, "ecs:CreateAction StringEquals RunTask")}


def test_machines_may_invoke_exactly_the_functions_of_their_file_in_all_versions(allowed: list[Permission]):
    for role, machine in ROLES:
        from tests.stepfunctions.machines import read_deployed

        called = {
            state["Arguments"]["FunctionName"].removeprefix("${").removesuffix("}")
            for _, state in read_deployed(machine).lambdas()
        }
        assert _of(allowed, role).get("lambda:InvokeFunction", set()) == {
            (f"<Functions{name}>:*", "") for name in called
        }


@pytest.mark.parametrize(
    ("kind", "machines", "reads", "writes"),
    [
        ("Plan", {"terraform"}, {"plans/*/lock.hcl"}, {"plans/*", "logs/*"}),
        ("Apply", {"terraform"}, {"plans/*"}, {"logs/*", "errored/*"}),
        (
            "Speculate",
            {"pull-request", "pull-request/Layers", "drift", "drift/Layers"},
            set(),
            SPECULATIVE,
        ),
    ],
)
def test_a_runner_has_its_jobs_its_prefixes_its_tokens_and_its_engine(
    allowed: list[Permission], kind: str, machines: set[str], reads: set[str], writes: set[str]
):
    runner = _of(allowed, f"Runners{kind}TaskRole")
    keys = f"job#*-{kind.lower()}-?, job#*-{kind.lower()}-??"
    jobs = {("<StorageTable>", f"dynamodb:LeadingKeys ForAllValues:StringLike {keys}")}
    for action in ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"):
        assert runner.pop(action) == jobs
    assert {on for on, _ in runner.pop("s3:GetObject", set())} == {f"<StorageArtifacts>/{name}" for name in reads}
    assert {on for on, _ in runner.pop("s3:PutObject")} == {f"<StorageArtifacts>/{name}" for name in writes}
    runner.pop("s3:ListBucket", None)
    for action in TOKENS:
        machine = "arn:aws:states:REGION:ACCOUNT:stateMachine:tidegate-"
        assert runner.pop(action) == {(f"{machine}{name}", "") for name in machines}
    assert runner.pop("sts:AssumeRole") == {(f"<Runners{kind}EngineRole>", "")}
    assert not runner


def test_an_engine_role_is_assumed_by_its_own_runner_alone(template: dict[str, Any]):
    for kind in KINDS:
        (statement,) = roles(template)[f"Runners{kind}EngineRole"]["AssumeRolePolicyDocument"]["Statement"]
        (principal,) = statement["Principal"].values()
        assert principal["Fn::GetAtt"][0].startswith(f"Runners{kind}TaskRole")


def test_every_engine_is_denied_everything_of_the_installation_by_tag(template: dict[str, Any]):
    """By name as well: tests/e2e/test_engine_roles.py tries it. Not every service tells IAM its resources' tags."""
    by_tag = "aws:ResourceTag/tidegate StringEquals tidegate"
    denied = {
        p.role
        for p in permissions(template)
        if (p.effect, p.actions, p.resources, p.condition) == ("Deny", ("*",), ("*",), by_tag)
    }
    assert denied == {f"Runners{kind}EngineRole" for kind in (*KINDS, "Task")}


def test_the_denials_fit_into_one_policy(template: dict[str, Any]):
    """IAM takes 6,144 characters without blanks; an account and a region are longer than their stand-ins here."""
    denied = [p for p in permissions(template) if p.role == "RunnersPlanEngineRole" and p.effect == "Deny"]
    arns = [
        on.replace("ACCOUNT", "123456789012").replace("REGION", "ap-northeast-1") for p in denied for on in p.resources
    ]
    assert sum(len(arn) + len('"",') for arn in arns) < 6144 - 800


def test_only_what_answers_tokens_may_answer_them(allowed: list[Permission]):
    answering = {permission.role for permission in allowed if set(permission.actions) & TOKENS}
    functions = {"DiscoverRoots", "Waits", "Workers", "WaitForRequirements", "PullRequestSteps", "Reconcile", "Api"}
    assert answering == {f"Functions{name}FunctionRole" for name in functions} | {
        "RunnersPlanTaskRole",
        "RunnersApplyTaskRole",
        "RunnersSpeculateTaskRole",
        "RunnersTaskTaskRole",
        "RunnersReplayTaskRole",
    }


def test_only_what_speaks_with_the_forge_knows_the_apps_key(allowed: list[Permission]):
    knowing = {permission.role for permission in allowed if any("github-app" in on for on in permission.resources)}
    names = {"DiscoverRoots", "GitSteps", "ForgeSteps", "WaitForRequirements", "Reconcile", "Api"}
    assert knowing == {f"Functions{name}FunctionRole" for name in names}


def test_every_use_of_the_table_is_limited_to_kinds_of_records(allowed: list[Permission]):
    for permission in allowed:
        if "<StorageTable>" in permission.resources:
            assert permission.condition.startswith("dynamodb:LeadingKeys ForAllValues:String"), permission.role
            assert "dynamodb:Scan" not in permission.actions


def test_a_speculative_plan_may_read_states_and_write_nothing_of_them(tmp_path: Path):
    from tidegate_cdk.props import TidegateProps
    from tidegate_cdk.stack import TidegateStack
    from tidegate_cdk.synthesis import file_context

    app = aws_cdk.App(
        analytics_reporting=False, context={**file_context(), "state_bucket": "states"}, outdir=str(tmp_path)
    )
    stack = TidegateStack(app, "Tidegate", TidegateProps.from_context(app.node))
    found = json.loads((Path(app.synth().directory) / stack.template_file).read_text(encoding="utf-8"))
    engine = [p for p in permissions(found) if p.role == "RunnersSpeculateEngineRole" and p.effect == "Allow"]
    assert {action for p in engine for action in p.actions} == {"s3:ListBucket", "s3:GetObject"}
    planning = [p for p in permissions(found) if p.role == "RunnersPlanEngineRole" and "s3:PutObject" in p.actions]
    assert {on for p in planning for on in p.resources} == {"arn:aws:s3:::states/*.tflock"}


def test_only_executions_for_pull_requests_are_stopped_by_functions(allowed: list[Permission]):
    executions = "arn:aws:states:REGION:ACCOUNT:execution:tidegate-pull-request:*"
    stopping = {
        (permission.role, on)
        for permission in allowed
        for on in permission.resources
        if "states:StopExecution" in permission.actions and permission.role.startswith("Functions")
    }
    assert stopping == {(f"Functions{name}FunctionRole", executions) for name in ("DiscoverRoots", "Reconcile")}


def test_schedules_start_runs_that_look_for_drift_and_nothing_else(allowed: list[Permission], template: dict[str, Any]):
    role = _of(allowed, "SchedulesRole")
    assert role.pop("states:StartExecution") == {("arn:aws:states:REGION:ACCOUNT:stateMachine:tidegate-drift", "")}
    assert role.pop("sqs:SendMessage") == {("<MessagingUndelivered>", "")}
    assert not role
    (statement,) = roles(template)["SchedulesRole"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert set(statement["Condition"]["StringEquals"]) == {"aws:SourceArn", "aws:SourceAccount"}


def test_only_who_reads_configurations_makes_schedules(allowed: list[Permission]):
    making = {p.role for p in allowed if "scheduler:CreateSchedule" in p.actions}
    assert making == {"FunctionsDiscoverRootsFunctionRole"}
    removing = {p.role for p in allowed if "scheduler:DeleteSchedule" in p.actions}
    assert removing == making | {"FunctionsGitStepsFunctionRole"}
    passing = {p.role for p in allowed if "<SchedulesRole>" in p.resources}
    assert passing == making

"""Rules that hold for every state of every state machine, read from the files."""

from __future__ import annotations

import re
from typing import Any

import jsonata
import pytest

from tests.stepfunctions.contracts import CONTRACTS
from tests.stepfunctions.machines import CLUSTER_MACHINES, MACHINES, RENDERED, Machine, expressions
from tests.stepfunctions.worst_case import CALL, LIMIT_OF_THE_ROOT, longest
from tidegate.clusters.rules.rendering import MOST_SECONDS
from tidegate.deploys.rules.gate import GATE_DAYS
from tidegate.deploys.rules.requirements_gate import REQUIREMENTS_DAYS
from tidegate.deploys.rules.review import REVIEW_DAYS
from tidegate.deploys.rules.runner_size import APPLY_SECONDS
from tidegate.deploys.rules.slots import SLOT_WAIT_HOURS
from tidegate.jobs.begin_job import PLAN_ATTEMPTS
from tidegate_cdk.asl_state_machine import LAYERS

pytestmark = pytest.mark.parametrize("machine", [*MACHINES, *CLUSTER_MACHINES], ids=lambda machine: machine.name)

#: Errors that mean "nothing was done, ask again". Nothing else may be retried by name.
_ASK_AGAIN = {
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
    "Lambda.Unknown",
    "Runtime.ExitError",
    "Sandbox.Timedout",
    "Conflict",
    "ForgeUnavailable",
    "CloudUnavailable",
}
#: Another workflow has the lock. Nothing was done, and it ends by itself.
_BUSY = {"ClusterBusy", "ClusterLocked"}
#: RunTask's, of which none has started a task.
_ECS = {
    "ECS.ThrottlingException",
    "ECS.ServerException",
    "ECS.AmazonECSException",
    "ECS.ClientException",
    "ECS.InvalidParameterException",
    "ECS.LimitExceededException",
    "AmazonECS.Unknown",
}
_CATCH_ALL = ["States.ALL"]
_DAY = 24 * 3600
#: Seconds that a deployment may work, besides its waits for people and for others.
_WORK = 5 * _DAY
#: A task that times out here has not started an engine: the runner's first act is the answer.
_START_OF_RUNNER = "ecs:runTask.waitForTaskToken"


def _ends(machine: Machine) -> set[str]:
    return {name for name, state in machine.states.items() if state["Type"] in ("Succeed", "Fail") or "End" in state}


def test_the_query_language_is_jsonata_throughout(machine: Machine):
    assert machine.definition["QueryLanguage"] == "JSONata"
    assert not [name for name, state in machine.states.items() if "QueryLanguage" in state]


def test_every_state_is_reachable_and_leads_to_an_end(machine: Machine):
    seen, todo = set(), [machine.definition["StartAt"]]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(target for _, target in machine.edges(name))
    assert seen == set(machine.states)
    leading, grown = _ends(machine), True
    while grown:
        more = {name for name in machine.states if any(target in leading for _, target in machine.edges(name))}
        grown = not more <= leading
        leading |= more
    assert leading == set(machine.states)


def test_every_state_says_what_it_is_for(machine: Machine):
    assert machine.definition["Comment"]
    assert not [name for name, state in machine.states.items() if len(state.get("Comment", "")) < 20]
    assert not [name for name in machine.states if len(name) > 80]


def test_every_choice_is_a_question_with_a_default(machine: Machine):
    for name, state in machine.states.items():
        if state["Type"] == "Choice":
            assert name.endswith("?"), name
            assert "Default" in state, name


def test_every_task_has_a_time_limit(machine: Machine):
    for name, task in machine.tasks():
        assert 0 < longest(task) <= (2 * GATE_DAYS + REVIEW_DAYS + REQUIREMENTS_DAYS) * _DAY + _WORK, name


def test_who_waits_for_another_execution_waits_longer_than_that_may_take(machine: Machine):
    limits = {each.name: each.definition.get("TimeoutSeconds") for each in (*MACHINES, *CLUSTER_MACHINES)}
    waits = {name: longest(task) for name, task in machine.tasks() if "StateMachineArn" in task["Arguments"]}
    hour = 3600
    if "Run the cluster workflow" in waits:
        assert waits["Run the cluster workflow"] == MOST_SECONDS + hour
    if "Handle the error" in waits:
        assert limits[machine.name] == MOST_SECONDS
        assert waits["Handle the error"] == limits["cluster_error"] + hour
    if "Plan, review and apply" in waits:
        for_people = (2 * GATE_DAYS + REVIEW_DAYS + REQUIREMENTS_DAYS) * _DAY
        working = MOST_SECONDS + hour + PLAN_ATTEMPTS * hour + 2 * SLOT_WAIT_HOURS * hour
        assert for_people + working < waits["Plan, review and apply"] == for_people + _WORK


def test_people_are_told_how_long_it_really_waits_for_them_and_for_others(machine: Machine):
    limits = {name: task["TimeoutSeconds"] for name, task in machine.tasks()}
    days = {"wait_at_gate": GATE_DAYS, "request_review": REVIEW_DAYS, "wait_for_requirements": REQUIREMENTS_DAYS}
    for name, state in machine.lambdas():
        kind = state["Arguments"]["Payload"]["kind"]
        if kind in days:
            assert limits[name] == days[kind] * 24 * 3600, name


def test_every_wait_for_others_is_counted_and_goes_by_its_entry(machine: Machine):
    """So a second answer to one wait is known, and an execution ends before its history is full."""
    for name, state in machine.lambdas():
        if state["Arguments"]["Payload"]["kind"] in {"wait_at_gate", "wait_for_requirements"}:
            assert state["Assign"]["waitsBefore"] == "{% $waitsBefore + 1 %}", name
        if "retry" in CONTRACTS[state["Arguments"]["Payload"]["kind"]][0].model_fields:
            assert {"token", "entered", "retry"} <= set(state["Arguments"]["Payload"]), name


def test_a_wait_for_a_runner_has_a_heartbeat_shorter_than_its_time_limit(machine: Machine):
    for name, task in machine.tasks():
        if "dispatch_job" in str(task):
            assert task["HeartbeatSeconds"] <= APPLY_SECONDS[0] < longest(task), name


def test_an_apply_takes_as_long_as_its_root_says(machine: Machine):
    limits = {name for name, task in machine.tasks() if task["TimeoutSeconds"] == LIMIT_OF_THE_ROOT}
    assert limits == {"terraform": {"Apply"}, "cluster_task": {"Run the task"}}.get(machine.name, set())


def test_runners_are_started_in_the_size_that_their_job_says(machine: Machine):
    for name, task in machine.tasks():
        if "ecs:runTask" in task["Resource"]:
            overrides = task["Arguments"]["Overrides"]
            own = {key: value for key, value in overrides.items() if key != "ContainerOverrides"}
            said = {"Cpu": "{% $size.cpu %}", "Memory": "{% $size.memory %}"}
            assert own == {**said, "EphemeralStorage": {"SizeInGiB": "{% $size.disk %}"}}, name
            life = {"Name": "TIDEGATE_LIFE_SECONDS", "Value": "{% $size.life %}"}
            assert life in overrides["ContainerOverrides"][0]["Environment"], name


def test_every_retry_names_its_errors_and_is_bounded(machine: Machine):
    for name, task in machine.tasks():
        for retry in task.get("Retry", []):
            assert "States.ALL" not in retry["ErrorEquals"], name
            assert "States.TaskFailed" not in retry["ErrorEquals"], name
            assert 2 <= retry["MaxAttempts"] <= 10, name
            assert retry["BackoffRate"] >= 1, name
            assert retry["JitterStrategy"] == "FULL", name


def test_functions_are_retried_for_all_that_means_that_asking_again_is_safe(machine: Machine):
    for name, task in machine.lambdas():
        retried = {error for retry in task["Retry"] for error in retry["ErrorEquals"]}
        # An apply: only what refused before the function ran, or before it left anything for the runner.
        apply = {"Lambda.TooManyRequestsException", "ForgeUnavailable"}
        expected = {"Apply": apply, "Lock the cluster": _ASK_AGAIN | _BUSY}.get(name, _ASK_AGAIN)
        assert retried == expected, name


def test_a_function_answers_and_a_runner_starts_within_lambdas_own_limit(machine: Machine):
    for name, task in machine.tasks():
        if task["Resource"].endswith((":lambda:invoke", _START_OF_RUNNER)):
            assert longest(task) <= CALL, name


def test_an_apply_is_never_retried_once_it_may_have_begun(machine: Machine):
    """Taking the job is the fence; besides, nothing retries what could be a second apply."""
    if machine.name != "terraform":
        return
    back = {"Apply", "Begin the apply", "Start a runner for the apply"}
    assert not {target for _, target in machine.edges("Apply")} & back
    seen, todo = set(), [target for _, target in machine.edges("Apply")]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(target for _, target in machine.edges(name))
    assert not seen & back


def test_the_start_of_a_runner_is_retried_only_when_nothing_ran(machine: Machine):
    for name, task in machine.tasks():
        if task["Resource"].endswith(_START_OF_RUNNER):
            retried = {error for retry in task["Retry"] for error in retry["ErrorEquals"]}
            assert retried == _ECS | {"States.Timeout", "RunnerStopped"}, name


def test_every_task_catches_everything_and_remembers_the_cause(machine: Machine):
    for name, task in machine.tasks():
        if "Catch" not in task:
            assert machine.states[machine.map_around(name) or name]["Catch"], name
            continue
        for catch in task["Catch"]:
            assert ("error" in catch.get("Assign", {})) == ("cause" in catch.get("Assign", {})), name
            assert ("layerError" in catch.get("Assign", {})) == ("layerCause" in catch.get("Assign", {})), name
        last = task["Catch"][-1]
        assert last["ErrorEquals"] == _CATCH_ALL, name
        if machine.name == "cluster_error" and "Assign" not in last:
            continue  # It knows the first error already, and no later one takes its place.
        error, cause = ("layerError", "layerCause") if machine.map_around(name) else ("error", "cause")
        assert last["Assign"] == {
            error: "{% $states.errorOutput.Error %}",
            cause: "{% $states.errorOutput.Cause ? $states.errorOutput.Cause : '' %}",
        }, name


def test_every_caught_failure_is_recorded_before_the_execution_ends(machine: Machine):
    """Only a failure to record may end the execution directly; an event then closes the records."""
    recording = {
        "deploy": {"Claim the next deployment", "Record the outcome", "Wait for a revision or an unlock"}
        | {"Close the queue if nothing came", "Continue as a new execution"},
        "terraform": {name for name in machine.states if name.startswith("Record ")},
        "pull_request": {"Show what the merge would do", "Show the internal error"},
        "drift": {"Keep and show what was found", "Record an internal error"},
        "config_update": {
            "Read the branches and their checks",
            "Record that the replay failed",
            "Fast-forward the default branch",
            "Push the commits below the failed one by themselves",
            "Wait for an image set, a verdict or a report",
            "Close the queue if nothing came",
            "Continue as a new execution",
        },
        "promotion": {"Record an internal error"},
        "cluster_task": {"Record that the task failed"},
        "cluster_error": {"Record the end"},
        **{name: {"Handle the error"} for name in RENDERED},
    }[machine.name]
    for name, task in machine.tasks():
        for catch in task.get("Catch", ()):
            if machine.states[catch["Next"]]["Type"] == "Fail":
                assert name in recording, name


def test_every_expression_parses_and_is_short(machine: Machine):
    found = list(expressions(machine.definition))
    assert found
    for text in found:
        jsonata.Jsonata(text)
        assert len(text) <= 80, text


def test_expressions_select_and_compare_and_use_no_function_beyond_the_common_ones(machine: Machine):
    for text in expressions(machine.definition):
        used = set(re.findall(r"\$(\w+)\(", text))
        assert used <= {"count", "not", "split", "exists", "parse", "join"}, text
        assert "function(" not in text
        assert "$parse(" not in text, "jsonata-python does not know it"


def test_variables_are_assigned_before_they_are_read(machine: Machine):
    """States.Runtime cannot be caught on AWS: a variable that was never assigned ends the execution."""
    everywhere = set(machine.states)
    assigned: dict[str, set[str]] = {name: set() for name in everywhere}
    start = machine.definition["StartAt"]
    known: dict[str, set[str] | None] = dict.fromkeys(everywhere)
    known[start] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        state = machine.states[name]
        before = known[name] or set()
        for how, target in machine.edges(name):
            after = before | set(state.get("Assign", {})) if how not in {"catch", "each"} else set(before)
            if how == "catch":
                after |= {key for catch in state["Catch"] if catch["Next"] == target for key in catch.get("Assign", {})}
            merged = after if known[target] is None else (known[target] or set()) & after
            if known[target] is None or merged != known[target]:
                known[target] = merged
                todo.append(target)
        assigned[name] = before
    for name, state in machine.states.items():
        own = {key: value for key, value in state.items() if key != "ItemProcessor"}
        read = {word for text in expressions(own) for word in re.findall(r"\$(\w+)(?![\w(])", text)} - {"states"}
        assert read <= assigned[name], f"{name} reads {read - assigned[name]}"


def test_what_goes_through_a_map_assigns_only_variables_of_its_own(machine: Machine):
    """Step Functions refuses a name that is assigned outside of the Map as well."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for name, state in machine.states.items():
        inside = machine.map_around(name) is not None
        names[inside] |= {key for rule in (state, *state.get("Catch", [])) for key in rule.get("Assign", {})}
    assert not names[True] & names[False]


def test_nothing_that_goes_through_a_map_fails_the_others(machine: Machine):
    inside = [name for name in machine.states if machine.map_around(name)]
    assert not [name for name in inside if machine.states[name]["Type"] == "Fail"]


def test_placeholders_stand_alone_in_quotes_and_are_those_that_the_stack_fills(machine: Machine):
    from tidegate_cdk.asl_state_machine import PLACEHOLDER
    from tidegate_cdk.function_specs import SPECS

    placeholders = set(PLACEHOLDER.findall(machine.text))
    functions = {spec.id for spec in SPECS}
    others = {
        "TerraformStateMachine",
        "ClusterTaskStateMachine",
        "ClusterErrorStateMachine",
        "ClusterTaskDefinition",
        "Cluster",
        "PlanTaskDefinition",
        "ApplyTaskDefinition",
        "SpeculateTaskDefinition",
        "ReplayTaskDefinition",
        "ClusterMachines",
        "PlanLambda",
        "SpeculateLambda",
        "Subnets",
        "RunnerSecurityGroup",
        "AssignPublicIp",
    }
    assert placeholders <= functions | others


def test_no_account_region_or_resource_is_written_into_the_file(machine: Machine):
    assert not re.search(r"\b\d{12}\b", machine.text)
    arns = set(re.findall(r"arn:aws:[^\"]*", machine.text))
    assert all(arn.startswith("arn:aws:states:::") for arn in arns)
    assert not re.search(r"\b(us|eu|ap|sa|ca|me|af)-[a-z]+-\d\b", machine.text)


def test_expected_outcomes_succeed_and_only_faults_of_tidegate_fail(machine: Machine):
    failing = [name for name, state in machine.states.items() if state["Type"] == "Fail"]
    # A task of a cluster fails where its workflow catches it, which then ends as expected.
    assert failing == [*(["Task failed"] if machine.name == "cluster_task" else []), "Internal error"]
    assert set(machine.states["Internal error"]) >= {"Error", "Cause"}


def test_items_of_a_map_are_executions_of_their_own_that_read_only_what_they_assign(machine: Machine):
    """Step Functions shows a distributed Map's items no variable from around it, and keeps 256 KiB of their results."""
    for name in (name for name, state in machine.states.items() if _is_distributed(state)):
        around = machine.states[name]
        inside = {each: state for each, state in machine.states.items() if machine.map_around(each) == name}
        assert around["ItemProcessor"]["ProcessorConfig"] == {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
        assert (around["Label"], around["ToleratedFailurePercentage"]) == (LAYERS, 100)
        rules = [rule for state in inside.values() for rule in (state, *state.get("Catch", []))]
        own = {key for rule in rules for key in rule.get("Assign", {})}
        read = {word for text in expressions(inside) for word in re.findall(r"\$(\w+)(?![\w(])", text)} - {"states"}
        assert read <= own
        assert "context.Execution" not in "".join(expressions(inside))
        outputs = [state["Output"] for state in inside.values() if state["Type"] == "Succeed"]
        assert all(len(output) < 16 and not output.startswith("{%") for output in outputs)


def test_an_item_that_left_no_result_is_a_fault(machine: Machine):
    for state in (state for state in machine.states.values() if _is_distributed(state)):
        ends = [each["Output"] for each in state["ItemProcessor"]["States"].values() if each["Type"] == "Succeed"]
        good = [end for end in ends if end != "fault"]
        failed = {"Error": "States.Runtime", "Cause": ""}
        for results, is_fault in (
            ([*good, *good], False),
            ([*good, *good[1:], "fault"], True),
            ([*good, *good[1:], failed], True),
            ([*good, *good[1:]], True),
            ([], True),
        ):
            bound = {"states": {"result": results}, "layers": [*good, *good]}
            assert jsonata.Jsonata(_only_expression(state["Assign"])).evaluate(None, bound) is is_fault


def _is_distributed(state: dict[str, Any]) -> bool:
    return state["Type"] == "Map" and "Label" in state


def test_a_map_within_an_execution_does_one_thing_after_another(machine: Machine):
    """Hooks and releases have an order. Only diagnostics of two clusters run side by side."""
    for name, state in machine.states.items():
        if state["Type"] == "Map" and not _is_distributed(state):
            assert state["ItemProcessor"]["ProcessorConfig"] == {"Mode": "INLINE"}, name
            assert state["MaxConcurrency"] == (2 if name == "Diagnose the clusters" else 1), name


def test_every_execution_that_a_machine_starts_has_a_name_of_its_own(machine: Machine):
    names = [task["Arguments"]["Name"] for _, task in machine.tasks() if "StateMachineArn" in task["Arguments"]]
    assert len(names) == len(set(names))
    inside = {name for name in machine.states if machine.map_around(name)}
    for name, task in machine.tasks():
        if "StateMachineArn" in task["Arguments"] and name in inside:
            assert "Map.Item.Index" in task["Arguments"]["Name"], name


def _only_expression(assigned: dict[str, str]) -> str:
    [expression] = expressions(assigned)
    return expression


def test_every_runner_tells_what_started_it(machine: Machine):
    """RunTask has ``startedBy``; the optimized integration takes what the API takes (docs: connect-ecs.html)."""
    runs = [state for state in machine.states.values() if state.get("Resource", "").endswith(_START_OF_RUNNER)]
    started_by = {state["Arguments"]["StartedBy"] for state in runs}
    assert started_by <= {"{% $deployment %}", "{% $layer %}", "config-update"}
    none = {"deploy", "promotion", "cluster_error", *RENDERED}
    assert len(started_by) == (machine.name not in none)

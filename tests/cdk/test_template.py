"""What the template promises about durability, encryption, limits and routes."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import GATE_DAYS
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.requirements_gate import REQUIREMENTS_DAYS
from tidegate.deploys.rules.review import REVIEW_DAYS
from tidegate_local.stack.template import DEPLOYED, LEFT_OUT


def _only(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (properties,) = found.values()
    return properties


def test_the_table_survives_mistakes(template: dict[str, Any], resources):
    table = _only(resources("AWS::DynamoDB::Table"))
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["DeletionProtectionEnabled"] is True
    indexes = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}
    assert set(indexes) == {"open", "history", "recent", "roots"}
    assert "token" not in indexes["roots"]["Projection"]["NonKeyAttributes"]


@pytest.mark.parametrize("record", [Deployment, QueueHead])
def test_a_save_writes_nothing_to_the_index_of_what_is_not_done(resources, record):
    table = _only(resources("AWS::DynamoDB::Table"))
    (unfinished,) = [index for index in table["GlobalSecondaryIndexes"] if index["IndexName"] == "open"]
    assert unfinished["Projection"]["ProjectionType"] == "INCLUDE"
    saved = {field.name for field in dataclasses.fields(record)}
    assert saved.isdisjoint(unfinished["Projection"]["NonKeyAttributes"])


def test_the_table_outlives_its_stack(template: dict[str, Any]):
    (resource,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
    assert resource["DeletionPolicy"] == "Retain"


def test_the_bucket_is_private_encrypted_and_forgets(resources):
    bucket = _only(resources("AWS::S3::Bucket"))
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]
    days = {
        rule["Prefix"]: rule["ExpirationInDays"]
        for rule in bucket["LifecycleConfiguration"]["Rules"]
        if "Prefix" in rule
    }
    assert days["plans/"] > GATE_DAYS + REVIEW_DAYS + REQUIREMENTS_DAYS, "a plan waits at each of them in turn"
    assert days["policies/"] > days["plans/"], "what waits in line behind it is held against policies as well"
    assert set(days) == {"plans/", "logs/", "errored/", "policies/", "replays/", "cluster-tasks/"}
    assert (days["replays/"], days["cluster-tasks/"]) == (30, 90)


@pytest.mark.parametrize("kind", ["AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy"])
def test_nothing_is_taken_without_tls(resources, kind: str):
    found = resources(kind)
    assert found
    for policy in found.values():
        denials = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
        assert any(s["Condition"].get("Bool", {}).get("aws:SecureTransport") == "false" for s in denials)


def test_every_queue_has_dead_letters_and_every_dead_letter_queue_an_alarm(resources):
    queues = resources("AWS::SQS::Queue")
    dead = {name for name in queues if "RedrivePolicy" not in queues[name]}
    redriven = {
        queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        for queue in queues.values()
        if "RedrivePolicy" in queue
    }
    targets = {
        target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]
        for rule in resources("AWS::Events::Rule").values()
        for target in rule["Targets"]
    }
    assert dead == redriven | targets
    watched = {
        dimension["Value"]["Fn::GetAtt"][0]
        for alarm in resources("AWS::CloudWatch::Alarm").values()
        for dimension in alarm.get("Dimensions", [])
        if dimension["Name"] == "QueueName"
    }
    assert watched == dead


def test_messages_are_hidden_longer_than_their_function_runs(resources):
    functions, queues = resources("AWS::Lambda::Function"), resources("AWS::SQS::Queue")
    for mapping in resources("AWS::Lambda::EventSourceMapping").values():
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        queue = queues[mapping["EventSourceArn"]["Fn::GetAtt"][0]]
        function = functions[mapping["FunctionName"]["Ref"]]
        assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]


def test_check_runs_lines_and_changes_are_looked_at_in_order(resources):
    fifo = [queue for queue in resources("AWS::SQS::Queue").values() if queue.get("FifoQueue")]
    assert sorted(queue["QueueName"] for queue in fifo) == [
        "tidegate-change.fifo",
        "tidegate-check-run.fifo",
        "tidegate-dead.fifo",
        "tidegate-positions.fifo",
    ]


def test_what_asks_for_a_line_within_a_second_is_read_after_that_second(resources):
    (line,) = [
        queue for queue in resources("AWS::SQS::Queue").values() if queue.get("QueueName") == "tidegate-positions.fifo"
    ]
    assert line["DelaySeconds"] == 2


def test_functions_run_where_their_layers_are_built_for(resources):
    for name, function in resources("AWS::Lambda::Function").items():
        assert function["Architectures"] == ["arm64"], name
        assert function.get("Runtime", "python3.13") == "python3.13", name
        assert function["TracingConfig"] == {"Mode": "Active"}, name
        assert "LogGroup" in function["LoggingConfig"], name


def test_functions_end_before_those_who_wait_for_them(resources):
    functions = resources("AWS::Lambda::Function")
    webhook = next(f for name, f in functions.items() if name.startswith("FunctionsWebhookFunction"))
    assert webhook["Timeout"] < 10, "GitHub gives up after 10 s"
    synchronous = [f for f in functions.values() if f.get("Runtime") and f is not webhook]
    assert all(function["Timeout"] <= 240 for function in synchronous)


def test_the_webhook_function_starts_without_third_party_packages(resources):
    functions = resources("AWS::Lambda::Function")
    webhook = next(f for name, f in functions.items() if name.startswith("FunctionsWebhookFunction"))
    assert len(webhook["Layers"]) == 1


def test_secrets_are_named_and_never_in_the_template(template: dict[str, Any], resources):
    assert not resources("AWS::SecretsManager::Secret")
    assert "PRIVATE KEY" not in json.dumps(template)
    for function in resources("AWS::Lambda::Function").values():
        for name, value in function["Environment"]["Variables"].items():
            assert "SECRET" not in name or name.endswith("_SECRET_NAME"), (name, value)


def test_no_custom_resources_run_code_at_deploy_time(template: dict[str, Any]):
    kinds = {resource["Type"] for resource in template["Resources"].values()}
    assert not {kind for kind in kinds if kind.startswith("Custom::") or kind == "AWS::CloudFormation::CustomResource"}


def test_every_log_is_forgotten_some_day(resources):
    assert all(group["RetentionInDays"] for group in resources("AWS::Logs::LogGroup").values())


def test_logs_that_aws_delivers_take_no_room_in_the_accounts_policy(resources):
    """One policy of 5,120 characters names the log groups that AWS delivers to, but for /aws/vendedlogs/."""
    groups = resources("AWS::Logs::LogGroup")
    delivered = [machine["LoggingConfiguration"] for machine in resources("AWS::StepFunctions::StateMachine").values()]
    arns = [each["Destinations"][0]["CloudWatchLogsLogGroup"]["LogGroupArn"] for each in delivered]
    arns += [stage["AccessLogSettings"]["DestinationArn"] for stage in resources("AWS::ApiGatewayV2::Stage").values()]
    assert len({json.dumps(arn) for arn in arns}) == 10
    for arn in arns:
        assert groups[arn["Fn::GetAtt"][0]]["LogGroupName"].startswith("/aws/vendedlogs/")


def test_state_machines_log_their_events_without_data_which_holds_tokens(resources):
    for machine in resources("AWS::StepFunctions::StateMachine").values():
        assert machine["LoggingConfiguration"]["Level"] == "ALL"
        assert machine["LoggingConfiguration"]["IncludeExecutionData"] is False
        assert machine["TracingConfiguration"]["Enabled"] is True
        assert machine.get("StateMachineType", "STANDARD") == "STANDARD"


def test_the_deployed_definition_is_the_reviewed_file(resources):
    from tests.stepfunctions.machines import read_deployed

    for logical, machine in resources("AWS::StepFunctions::StateMachine").items():
        if logical.startswith("ClusterWorkflows"):
            continue
        name = machine["StateMachineName"].removeprefix("tidegate-").replace("-", "_")
        assert machine["DefinitionString"] == read_deployed(name).text


def test_runners_get_time_to_save_their_state_and_little_to_write_on(resources):
    tasks = resources("AWS::ECS::TaskDefinition")
    assert len(tasks) == 5
    for task in tasks.values():
        (container,) = task["ContainerDefinitions"]
        assert container["Name"] == "runner"
        assert container["StopTimeout"] == 120
        assert container["ReadonlyRootFilesystem"] is True
        assert container["LogConfiguration"]["Options"]["mode"] == "non-blocking"
        assert task["RuntimePlatform"]["CpuArchitecture"] == "ARM64"
        assert (int(task["Cpu"]), int(task["Memory"])) >= (1024, 2048)


def test_nothing_reaches_in_to_a_runner_and_no_gateway_costs_while_idle(resources):
    group = _only(resources("AWS::EC2::SecurityGroup"))
    assert "SecurityGroupIngress" not in group
    assert not resources("AWS::EC2::SecurityGroupIngress")
    assert not resources("AWS::EC2::NatGateway")


def test_executions_that_end_without_their_own_doing_are_closed(resources):
    patterns = [rule["EventPattern"] for rule in resources("AWS::Events::Rule").values() if "EventPattern" in rule]
    (closing,) = [pattern for pattern in patterns if pattern["source"] == ["aws.states"]]
    assert set(closing["detail"]["status"]) == {"FAILED", "ABORTED", "TIMED_OUT"}
    assert len(closing["detail"]["stateMachineArn"]) == 7
    (stopping,) = [pattern for pattern in patterns if pattern["source"] == ["aws.ecs"]]
    assert stopping["detail"]["lastStatus"] == ["STOPPED"]


def test_runners_are_measured_on_request_as_that_costs_more_than_they_do(resources, other: dict[str, Any]):
    settings = _only(resources("AWS::ECS::Cluster"))["ClusterSettings"]
    assert settings == [{"Name": "containerInsights", "Value": "disabled"}]
    (asked,) = [each for each in other["Resources"].values() if each["Type"] == "AWS::ECS::Cluster"]
    assert asked["Properties"]["ClusterSettings"] == [{"Name": "containerInsights", "Value": "enabled"}]


def test_what_is_no_more_tried_goes_to_a_queue_of_its_kind_and_is_kept_as_long(resources):
    """Those of FIFO queues are FIFO, those of rules, functions and schedules are not; messages keep their age."""
    queues = resources("AWS::SQS::Queue")
    for queue in queues.values():
        if "RedrivePolicy" in queue:
            dead = queues[queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]]
            assert dead.get("FifoQueue") == queue.get("FifoQueue")
            assert dead["MessageRetentionPeriod"] >= queue["MessageRetentionPeriod"]
    configs = [t["DeadLetterConfig"]["Arn"] for r in resources("AWS::Events::Rule").values() for t in r["Targets"]]
    configs += [
        each["DeadLetterConfig"]["TargetArn"]
        for each in resources("AWS::Lambda::Function").values()
        if "DeadLetterConfig" in each
    ]
    assert configs
    assert not any(queues[arn["Fn::GetAtt"][0]].get("FifoQueue") for arn in configs)


def test_events_that_reach_no_function_are_kept(resources):
    for rule in resources("AWS::Events::Rule").values():
        assert all("DeadLetterConfig" in target for target in rule["Targets"])


def test_every_alarm_tells_people(resources):
    alarms = resources("AWS::CloudWatch::Alarm")
    assert {alarm["AlarmName"].removeprefix("tidegate-") for alarm in alarms.values()} == {
        "QueuedDeadLetters",
        "OrderedDeadLetters",
        "UndeliveredDeadLetters",
        "DeployFailed",
        "TerraformFailed",
        "PullRequestFailed",
        "DriftFailed",
        "ConfigUpdateFailed",
        "PromotionFailed",
        "WebhookErrors",
        "OutcomeUnknown",
        "AuditFailures",
    }
    assert all(alarm["AlarmActions"] for alarm in alarms.values())


def test_alarms_may_publish_to_their_topic(resources):
    """A topic that has a policy of its own has no other: what it does not allow does not get through."""
    (topic,) = {json.dumps(alarm["AlarmActions"]) for alarm in resources("AWS::CloudWatch::Alarm").values()}
    (policy,) = [p for p in resources("AWS::SNS::TopicPolicy").values() if json.dumps(p["Topics"]) == topic]
    allowed = {
        statement["Principal"]["Service"]: statement.get("Condition")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow" and statement["Action"] == "sns:Publish"
    }
    assert allowed == {
        "cloudwatch.amazonaws.com": {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}},
        "events.amazonaws.com": None,
    }


def test_an_alarm_that_adds_metrics_counts_each_also_while_others_have_no_data(resources):
    for alarm in resources("AWS::CloudWatch::Alarm").values():
        metrics = {metric["Id"] for metric in alarm.get("Metrics", []) if "MetricStat" in metric}
        for expression in [metric["Expression"] for metric in alarm.get("Metrics", []) if "Expression" in metric]:
            assert set(re.findall(r"FILL\((\w+), 0\)", expression)) == metrics, alarm["AlarmName"]


def test_the_alarm_on_an_unknown_outcome_watches_its_rule_by_name(resources):
    (rule,) = [rule for rule in resources("AWS::Events::Rule").values() if "EventBusName" in rule]
    (alarm,) = [a for a in resources("AWS::CloudWatch::Alarm").values() if a["AlarmName"].endswith("-OutcomeUnknown")]
    (matched,) = [m["MetricStat"]["Metric"] for m in alarm["Metrics"] if m["Id"] == "matched"]
    assert {each["Name"]: each["Value"] for each in matched["Dimensions"]} == {
        "EventBusName": rule["EventBusName"],
        "RuleName": rule["Name"],
    }


def test_an_unknown_outcome_is_told_even_if_the_event_bus_takes_no_event(resources):
    filters = [each for each in resources("AWS::Logs::MetricFilter").values() if "OutcomeUnknown" in str(each)]
    assert len(filters) == 3
    for each in filters:
        assert '$.message = "EventBridge rejected an event"' in each["FilterPattern"]
        assert '$.state = "outcome_unknown"' in each["FilterPattern"]


def test_the_api_is_throttled_and_logged(resources):
    stage = _only(resources("AWS::ApiGatewayV2::Stage"))
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0
    assert "$context.status" in stage["AccessLogSettings"]["Format"]
    routes = {route["RouteKey"] for route in resources("AWS::ApiGatewayV2::Route").values()}
    assert routes == {"POST /webhooks/github", "$default"}


def test_each_function_has_the_variables_that_its_wiring_reads(resources):
    """The webhook, tasks and queue functions name what they miss at run time; this finds it before."""
    from tidegate_cdk.function_specs import SPECS

    functions = resources("AWS::Lambda::Function")
    for spec in SPECS:
        function = next(f for name, f in functions.items() if name.startswith(f"Functions{spec.id}"))
        assert "TIDEGATE_TABLE" in function["Environment"]["Variables"], spec.name


def test_the_local_cloud_deploys_each_resource_or_leaves_it_out_for_a_reason(template: dict[str, Any]):
    kinds = {resource["Type"] for resource in template["Resources"].values()} - DEPLOYED
    assert [kind for kind in sorted(kinds) if not any(kind.startswith(prefix) for prefix in LEFT_OUT)] == []

"""What the template promises about notifications: nothing without destinations, and few rights with some."""

from __future__ import annotations

import json

import pytest

from tests.cdk.context import Given
from tidegate.notifications.rules.delivery import LONGEST_ATTEMPT
from tidegate_cdk.destinations import read_destinations
from tidegate_cdk.permissions import permissions
from tidegate_cdk.runner_settings import InvalidContext
from tidegate_cdk.settings import read_settings

HOOK = {"kind": "webhook", "url": "https://hooks.example/x", "secret": "notify/hooks"}


def resources(template, kind):
    return {name: each["Properties"] for name, each in template["Resources"].items() if each["Type"] == kind}


def queue_of(template):
    [name] = [name for name in resources(template, "AWS::SQS::Queue") if "Notification" in name]
    return name


def test_without_destinations_nothing_polls_a_queue_and_no_rule_sends_to_one(template):
    assert not [name for name in template["Resources"] if "Notif" in name]


def test_events_that_people_may_be_told_of_reach_the_queue_with_the_kind_of_their_message(other):
    rules = {
        rule["EventPattern"]["detail-type"][0]: rule
        for rule in resources(other, "AWS::Events::Rule").values()
        if "EventBusName" in rule and "InputTransformer" in rule["Targets"][0]
    }
    assert rules["Drift"]["EventPattern"]["detail"] == {"drifted": [{"numeric": [">", 0]}]}
    assert "awaiting_review" in rules["Deployment changed"]["EventPattern"]["detail"]["state"]
    for detail_type, kind in (
        ("Drift", "drift_found"),
        ("Deployment changed", "deployment_changed"),
        ("Review expires soon", "review_expires_soon"),
        ("Queue locked", "queue_locked"),
    ):
        [target] = rules[detail_type]["Targets"]
        template = target["InputTransformer"]["InputTemplate"]
        [(name, path)] = target["InputTransformer"]["InputPathsMap"].items()
        assert (template, path) == (f'{{"kind":"{kind}","detail":<{name}>}}', "$.detail")
        assert target["Arn"] == {"Fn::GetAtt": [queue_of(other), "Arn"]}
        assert target["DeadLetterConfig"]


def test_eventbridge_may_send_to_the_queue(other):
    """Its policy decides: a rule has no role."""
    [policy] = [
        each["PolicyDocument"]["Statement"]
        for each in resources(other, "AWS::SQS::QueuePolicy").values()
        if {"Ref": queue_of(other)} in each["Queues"]
    ]
    allowed = [each for each in policy if each.get("Principal") == {"Service": "events.amazonaws.com"}]
    assert {action for each in allowed for action in each["Action"]} >= {"sqs:SendMessage"}


def test_an_attempt_whose_function_died_is_over_before_its_message_comes_again(other):
    [function] = [
        each
        for name, each in resources(other, "AWS::Lambda::Function").items()
        if name.startswith("FunctionsStepsFunction")
    ]
    longest = LONGEST_ATTEMPT.total_seconds()
    assert function["Timeout"] <= longest < resources(other, "AWS::SQS::Queue")[queue_of(other)]["VisibilityTimeout"]


def secret_name(arn):
    """Return the name in a secret's ARN, which ends in six random characters once there is such a secret."""
    return arn.rpartition("secret:")[2].removesuffix("-??????")


def test_the_function_reads_the_secrets_of_destinations_alone_and_publishes_to_their_topics(other):
    mine = [each for each in permissions(other) if each.role == "FunctionsStepsFunctionRole" and each.effect == "Allow"]
    secrets = {name for each in mine if "secretsmanager:GetSecretValue" in each.actions for name in each.resources}
    assert {secret_name(arn) for arn in secrets} == {"notify/hooks", "notify/slack"}
    published = {name for each in mine if "sns:Publish" in each.actions for name in each.resources}
    assert len(published) == 2  # The audit topic, and the one of owners.
    reads = {name for each in mine if "s3:GetObject" in each.actions for name in each.resources if ".txt" in name}
    assert reads
    assert all("/plans/" in name and name.endswith("plan.txt") for name in reads)


def test_no_engine_reads_the_secret_of_a_destination_whatever_its_own_policies_allow(other):
    denied = {
        name.rpartition("secret:")[2]
        for each in permissions(other)
        if each.role == "RunnersApplyEngineRole" and each.effect == "Deny" and "*" in each.actions
        for name in each.resources
    }
    assert denied >= {"notify/hooks", "notify/hooks-??????", "notify/slack", "notify/slack-??????"}


def test_the_function_of_the_api_reads_the_secrets_of_slack_alone_and_only_with_such_a_destination(template, other):
    for of, secrets in ((template, set()), (other, {"notify/slack"})):
        mine = [each for each in permissions(of) if each.role == "FunctionsApiFunctionRole" and each.effect == "Allow"]
        read = {name for each in mine if "secretsmanager:GetSecretValue" in each.actions for name in each.resources}
        assert {secret_name(arn) for arn in read if "notify/" in arn} == secrets


@pytest.mark.parametrize(
    ("role", "items"), [("FunctionsApiFunctionRole", "slack#*"), ("FunctionsStepsFunctionRole", "notifications#*")]
)
def test_who_limits_attempts_and_messages_may_count_them(other, role, items):
    mine = [each for each in permissions(other) if (each.role, each.effect) == (role, "Allow")]
    [counting] = [each for each in mine if each.condition.endswith(f" {items}") and "dynamodb:PutItem" in each.actions]
    assert "dynamodb:UpdateItem" in counting.actions


def test_an_email_destination_is_a_topic_with_that_subscriber_alone(other):
    subscribed = [each for each in resources(other, "AWS::SNS::Subscription").values() if each["Protocol"] == "email"]
    assert sorted(each["Endpoint"] for each in subscribed) == ["operators@example.com", "owners@example.com"]


def test_functions_that_read_files_of_repositories_know_the_names_and_no_more(other):
    functions = resources(other, "AWS::Lambda::Function")
    variables = {name: each.get("Environment", {}).get("Variables", {}) for name, each in functions.items()}
    listed = {name for name, each in variables.items() if "TIDEGATE_DESTINATIONS" in each}
    assert len(listed) == 1
    [names] = {each.get("TIDEGATE_DESTINATION_NAMES") for each in variables.values()} - {None}
    assert json.loads(names) == {"hooks": [], "deploys": ["acme/*"], "owners": []}
    for each in variables.values():
        assert len(json.dumps(each)) < 4096


@pytest.mark.parametrize(
    "given",
    [
        ["hooks"],
        {"hooks": "https://hooks.example/x"},
        {"hooks": {"kind": "webhook"}},
        {"hooks": {**HOOK, "repositories": []}},
        {f"hook-{number}": HOOK for number in range(30)},
    ],
)
def test_destinations_that_cannot_be_used_are_refused_at_synth(given):
    with pytest.raises(InvalidContext, match="destinations"):
        read_destinations(Given(destinations=given))


def test_an_installation_has_no_destinations_by_default():
    assert read_settings(Given()).destinations == ()

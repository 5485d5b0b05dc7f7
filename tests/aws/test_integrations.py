"""What AWS demands of the template where services call each other, and that a template without it is found."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.aws import contract, references


def test_aws_would_allow_all_that_the_template_has_it_do(installation: dict[str, Any]):
    assert contract.findings(installation) == []


def test_each_reference_gives_what_its_place_takes(installation: dict[str, Any]):
    assert references.findings(installation) == []


def test_each_row_names_its_document():
    for row in contract.rows("integrations"):
        assert row["see"], row
        assert row["url"].startswith("https://docs.aws.amazon.com/"), row


def _statements(template: dict[str, Any], kinds: set[str]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the properties and the statements of each policy of these types."""
    found = [each["Properties"] for each in template["Resources"].values() if each["Type"] in kinds]
    return [(properties, properties["PolicyDocument"]["Statement"]) for properties in found]


def _without(template: dict[str, Any], kind: str, sign: str) -> None:
    """Take the statements that contain a text out of the policies of a type."""
    for properties, statements in _statements(template, {kind}):
        properties["PolicyDocument"]["Statement"] = [each for each in statements if sign not in json.dumps(each)]


def _untagged(template: dict[str, Any]) -> None:
    _without(template, "AWS::IAM::Policy", "ecs:TagResource")


def _silent_alarms(template: dict[str, Any]) -> None:
    _without(template, "AWS::SNS::TopicPolicy", "cloudwatch.amazonaws.com")


def _rule_by_reference(template: dict[str, Any]) -> None:
    ((rule, properties),) = [
        (name, each["Properties"])
        for name, each in template["Resources"].items()
        if "EventBusName" in each.get("Properties", {})
    ]
    by_name, by_reference = json.dumps(properties.pop("Name")), json.dumps({"Ref": rule})
    for each in template["Resources"].values():
        if each["Type"] == "AWS::CloudWatch::Alarm":
            each["Properties"] = json.loads(json.dumps(each["Properties"]).replace(by_name, by_reference))


def _unfilled(template: dict[str, Any]) -> None:
    for each in template["Resources"].values():
        for query in each.get("Properties", {}).get("Metrics", []) if "Alarm" in each["Type"] else ():
            query["Expression"] = re.sub(r"FILL\((errors|matched), 0\)", r"\1", query.get("Expression", ""))
            if not query["Expression"]:
                del query["Expression"]


def _judged_at_once(template: dict[str, Any]) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::CloudWatch::Alarm":
            each["Properties"]["EvaluationPeriods"] = 1


def _condition_on_a_rule(template: dict[str, Any]) -> None:
    for _, statements in _statements(template, {"AWS::SNS::TopicPolicy"}):
        for each in statements:
            if each["Principal"] == {"Service": "events.amazonaws.com"}:
                each["Condition"] = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def _no_condition_on_alarms(template: dict[str, Any]) -> None:
    for _, statements in _statements(template, {"AWS::SNS::TopicPolicy"}):
        for each in statements:
            if each["Effect"] == "Allow":
                each.pop("Condition", None)


def _key_of_sns(template: dict[str, Any]) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::SNS::Topic":
            each["Properties"]["KmsMasterKeyId"] = "alias/aws/sns"


def _items_never_start(template: dict[str, Any]) -> None:
    for _, statements in _statements(template, {"AWS::IAM::Policy"}):
        for each in statements:
            if each["Action"] == "states:StartExecution":
                each["Resource"] = "arn:aws:states:REGION:ACCOUNT:stateMachine:another"


def _items_never_stop(template: dict[str, Any]) -> None:
    for _, statements in _statements(template, {"AWS::IAM::Policy"}):
        for each in statements:
            if "states:StopExecution" in each["Action"]:
                each["Action"] = "states:DescribeExecution"


def _deaf_queue(template: dict[str, Any]) -> None:
    _without(template, "AWS::SQS::QueuePolicy", "events.amazonaws.com")


def _unpassed_roles(template: dict[str, Any]) -> None:
    _without(template, "AWS::IAM::Policy", "iam:PassRole")


def _url_for_arn(template: dict[str, Any]) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::Lambda::EventSourceMapping":
            each["Properties"]["EventSourceArn"] = {"Ref": each["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]}


def _subscribed_log(template: dict[str, Any]) -> None:
    template["Resources"]["New"] = {"Type": "AWS::Logs::SubscriptionFilter", "Properties": {"LogGroupName": "any"}}


def _notified_bucket(template: dict[str, Any]) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::S3::Bucket":
            each["Properties"]["NotificationConfiguration"] = {"TopicConfigurations": []}


def _latest(template: dict[str, Any]) -> None:
    """Call the function, where its version was called."""
    for machine in template["Resources"].values():
        for name, value in machine.get("Properties", {}).get("DefinitionSubstitutions", {}).items():
            if name.endswith("Function"):
                version = template["Resources"][value["Ref"]]["Properties"]
                machine["Properties"]["DefinitionSubstitutions"][name] = version["FunctionName"]


def _without_older_versions(template: dict[str, Any]) -> None:
    for name, each in template["Resources"].items():
        if each["Type"] == "AWS::IAM::Policy" and name.startswith("TerraformRole"):
            each["Properties"] = json.loads(json.dumps(each["Properties"]).replace('":*"', '""'))


def _unknown_integration(template: dict[str, Any]) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::StepFunctions::StateMachine":
            text = each["Properties"]["DefinitionString"]
            each["Properties"]["DefinitionString"] = text.replace(":::lambda:invoke", ":::sqs:sendMessage")


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (_untagged, "RoleArn may not call ecs:TagResource"),
        (_silent_alarms, "cloudwatch.amazonaws.com may not call sns:Publish"),
        (_rule_by_reference, "has the name as RuleName, not bus|rule"),
        (_unfilled, "periods without data of matched count for nothing"),
        (_judged_at_once, "FILL stands for data that come late"),
        (_condition_on_a_rule, "events.amazonaws.com may not call sns:Publish"),
        (_no_condition_on_alarms, "may call sns:Publish also with aws:SourceAccount OTHER"),
        (_key_of_sns, "cloudwatch.amazonaws.com may not call sns:Publish"),
        (_items_never_start, "'Plan all that it changes': RoleArn may not call states:StartExecution"),
        (_items_never_stop, "'Check the roots': RoleArn may not call states:StopExecution"),
        (_deaf_queue, "events.amazonaws.com may not call sqs:SendMessage"),
        (_unpassed_roles, "RoleArn may not call iam:PassRole"),
        (_url_for_arn, "EventSourceArn takes arn and gets url"),
        (_subscribed_log, "no row says what AWS demands of AWS::Logs::SubscriptionFilter"),
        (_notified_bucket, "no row says what AWS demands of AWS::S3::Bucket"),
        (_latest, "takes arn of a version and gets name"),
        (_without_older_versions, "RoleArn may not call lambda:InvokeFunction"),
        (_unknown_integration, "no row says what AWS demands of arn:aws:states:::sqs:sendMessage"),
    ],
    ids=lambda each: each.__name__.strip("_").replace("_", " ") if callable(each) else "",
)
def test_a_template_that_aws_would_refuse_is_found(
    template: dict[str, Any], broken: Callable[[dict[str, Any]], None], found: str
):
    document = copy.deepcopy(template)
    broken(document)
    assert [line for line in (*contract.findings(document), *references.findings(document)) if found in line]

"""A deploy over what is there: versions of functions, and alarms that a topic would not hear."""

from __future__ import annotations

from tidegate_local.services.alarms import _topics_for_alarms
from tidegate_local.stack.template import Addresses, adapt
from tidegate_local.stack.versions import Versions


def resources(*versions):
    return {
        "Work": {"Type": "AWS::Lambda::Function", "Properties": {}},
        **{
            name: {"Type": "AWS::Lambda::Version", "Properties": {"FunctionName": {"Ref": "Work"}}} for name in versions
        },
    }


def test_a_changed_function_has_its_next_version_and_an_unchanged_one_the_same():
    versions = Versions()
    versions.publish(resources("WorkA"))
    versions.publish(resources("WorkA"))
    assert (versions.numbers, versions.newest) == ({"WorkA": "1"}, {"Work": "1"})
    versions.publish(resources("WorkB"))
    assert (versions.numbers, versions.newest) == ({"WorkA": "1", "WorkB": "2"}, {"Work": "2"})


def test_a_definition_names_the_version_that_was_published_with_it():
    template = {"Resources": resources("WorkB"), "Outputs": {"Called": {"Value": {"Ref": "WorkB"}}}}
    adapted = adapt(template, Addresses("http://api", versions={"WorkB": "2"}), "1", "us-east-1", {})
    called = adapted.template["Outputs"]["Called"]["Value"]
    assert called == {"Fn::Join": [":", [{"Fn::GetAtt": ["Work", "Arn"]}, "2"]]}


def policy(*principals):
    allowing = [{"Effect": "Allow", "Action": "sns:Publish", "Principal": {"Service": each}} for each in principals]
    denying = {"Effect": "Deny", "Action": "sns:Publish", "Principal": "cloudwatch.amazonaws.com"}
    properties = {"Topics": [{"Ref": "Alarm"}], "PolicyDocument": {"Statement": [denying, *allowing]}}
    return {"Type": "AWS::SNS::TopicPolicy", "Properties": properties}


def test_a_topic_whose_policy_forgets_alarms_hears_of_none():
    topic = {"Alarm": {"Type": "AWS::SNS::Topic"}}
    assert _topics_for_alarms(topic) == {"Alarm"}
    assert _topics_for_alarms({**topic, "Policy": policy("events.amazonaws.com")}) == set()
    assert _topics_for_alarms({**topic, "Policy": policy("events.amazonaws.com", "cloudwatch.amazonaws.com")}) == {
        "Alarm"
    }

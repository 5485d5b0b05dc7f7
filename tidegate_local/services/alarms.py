"""Alarms with manually set states: they publish to their topics, if the topics' policies allow it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from moto.cloudwatch.models import cloudwatch_backends

from tidegate_local.aws.gateway import Gateway, Response
from tidegate_local.aws.requests import Call
from tidegate_local.options import ACCOUNT
from tidegate_local.stack.deploy import Deployed

_ALARMS = "cloudwatch.amazonaws.com"


def make_alarms(cloudwatch: Any, deployed: Deployed, original: Mapping[str, Any]) -> None:
    """Make the stack's alarms. One whose topic would refuse it on AWS has no action."""
    open_topics = _topics_for_alarms(original["Resources"])
    for name, properties in deployed.played("AWS::CloudWatch::Alarm"):
        topic, actions = deployed.value(name, "AlarmActions.0"), properties.get("AlarmActions", [])
        may = bool(actions) and actions[0].get("Ref") in open_topics
        cloudwatch.put_metric_alarm(
            AlarmName=deployed.value(name, "AlarmName"),
            AlarmActions=[topic] if may else [],
            # Nothing measures anything here: states are set.
            Namespace="local",
            MetricName="none",
            Statistic="Sum",
            Period=300,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
        )


def _topics_for_alarms(resources: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the logical ids of topics that alarms may publish to: by their policy, or by SNS's own without one."""
    topics = {name for name, each in resources.items() if each["Type"] == "AWS::SNS::Topic"}
    for each in resources.values():
        if each["Type"] == "AWS::SNS::TopicPolicy" and not _allows_alarms(each["Properties"]["PolicyDocument"]):
            topics -= {str(topic["Ref"]) for topic in each["Properties"]["Topics"]}
    return topics


def _allows_alarms(policy: Mapping[str, Any]) -> bool:
    allowing = [each for each in policy["Statement"] if each["Effect"] == "Allow" and each["Action"] == "sns:Publish"]
    return any(_ALARMS in json.dumps(each["Principal"]) for each in allowing)


def connect(gateway: Gateway, region: str, publish: Callable[[str, str], None]) -> None:
    """Let ``publish`` tell an alarm's topics, by ARN and text, whenever its state has changed to ALARM."""

    def handle(_call: Call, _body: bytes, environ: Mapping[str, Any]) -> Response:
        backend = cloudwatch_backends[ACCOUNT][region]
        before = {name: alarm.state_value for name, alarm in backend.alarms.items()}
        response = gateway.ask_moto(dict(environ))
        for name, alarm in backend.alarms.items():
            if alarm.state_value == "ALARM" != before.get(name):
                for topic in alarm.alarm_actions:
                    publish(topic, json.dumps(_message(name, alarm)))
        return response

    for service in ("cloudwatch", "monitoring"):
        gateway.handle(f"{service}:SetAlarmState", handle)


def _message(name: str, alarm: Any) -> dict[str, str]:
    """Return what is published of an alarm, as far as anybody here reads it."""
    return {"AlarmName": name, "NewStateValue": alarm.state_value, "NewStateReason": alarm.state_reason}

"""Corrections of moto 5.2.5's differences from AWS. Each function says what and why.

``install()`` is called once, before moto's server answers. Differences that concern the template are
in tidegate_local/stack/template.py; what is not moto's at all (Lambda, ECS tasks, HTTP APIs) is in its own modules.
"""

# ruff: noqa: FBT001, FBT002 - replacements have the signatures of what they replace.
# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type,call-arg,typeddict-item,no-any-return"
from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from moto.cloudformation.models import Stack
from moto.core.common_models import BaseModel
from moto.core.config import default_user_config
from moto.ecs.models import TaskDefinition
from moto.events.models import Rule
from moto.iam.models import Role, iam_backends
from moto.kms.models import Key, kms_backends
from moto.logs.models import LogGroup
from moto.sqs.models import Queue
from moto.ssm.models import SimpleSystemManagerBackend

from tidegate_local.moto import dynamodb_shims, quota_shims, states_shims
from tidegate_local.moto.hub import HUB


def install() -> None:
    """Put everything in place."""
    default_user_config["stepfunctions"] = {"execute_state_machine": True}
    default_user_config["lambda"] = {"use_docker": False}
    states_shims.install()
    dynamodb_shims.install()
    quota_shims.install()
    for shim in (
        _instances,
        _templates,
        _rule_targets,
        _message_signal,
        _log_group_arns,
        _task_definitions,
        _managed_policies,
        _signing_keys,
        _parameters,
    ):
        shim()


def _parameters() -> None:
    """Parameters are listed while others are written; moto's loop over them fails then."""
    lock = threading.RLock()

    def alone(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def locked(*arguments: Any, **named: Any) -> Any:
            with lock:
                return method(*arguments, **named)

        return locked

    for name in ("describe_parameters", "put_parameter", "delete_parameter", "delete_parameters"):
        setattr(SimpleSystemManagerBackend, name, alone(getattr(SimpleSystemManagerBackend, name)))


def _instances() -> None:
    """Nothing keeps what was deleted; moto keeps each item, message and copy that was ever made, for its own page."""
    BaseModel.__new__ = lambda cls, *_arguments, **_more: object.__new__(cls)


def _templates() -> None:
    """A template in JSON is read as JSON; moto reads each as YAML, which takes seconds for ours."""
    original = Stack.parse_template

    def parse(template: str) -> dict[str, Any]:
        try:
            document: dict[str, Any] = json.loads(template)
        except ValueError:
            return original(template)
        return document

    Stack.parse_template = staticmethod(parse)


def _rule_targets() -> None:
    """EventBridge rules send to functions and topics; moto knows logs, queues, buses and archives only."""
    original = Rule.send_to_targets

    def send(self: Rule, original_event: dict[str, Any], transform_input: bool = True) -> None:
        every = self.targets
        ours = [target for target in every if ":lambda:" in target["Arn"] or ":sns:" in target["Arn"]]
        if self.state == "ENABLED" and ours and self.event_pattern.matches_event(original_event):
            for target in ours:
                HUB.invoke_target(target, original_event)
        # A copy: the next event may come while this one is sent.
        theirs = copy.copy(self)
        theirs.targets = [target for target in every if target not in ours]
        original(theirs, original_event, transform_input)

    Rule.send_to_targets = send


def _message_signal() -> None:
    """Queue pollers wake for each message instead of asking all the time."""
    original = Queue.add_message

    def add(self: Queue, message: Any) -> None:
        original(self, message)
        HUB.message_arrived(self.name)

    Queue.add_message = add


def _log_group_arns() -> None:
    """CloudFormation's ARN of a log group ends with ``:*`` on AWS, so policies cover its streams."""
    original = LogGroup.get_cfn_attribute

    def attribute(self: LogGroup, attribute_name: str) -> Any:
        value = original(self, attribute_name)
        return f"{value}:*" if attribute_name == "Arn" and not value.endswith(":*") else value

    LogGroup.get_cfn_attribute = attribute


def _task_definitions() -> None:
    """CloudFormation's task definitions lose their roles, sizes and platform in moto."""
    names = {
        "TaskRoleArn": "task_role_arn",
        "ExecutionRoleArn": "execution_role_arn",
        "Cpu": "cpu",
        "NetworkMode": "network_mode",
        "RequiresCompatibilities": "requires_compatibilities",
        "RuntimePlatform": "runtime_platform",
        "EphemeralStorage": "ephemeral_storage",
    }
    original = TaskDefinition.create_from_cloudformation_json.__func__

    def create(
        cls: Any, resource_name: str, cloudformation_json: Any, account_id: str, region_name: str, **_more: Any
    ) -> Any:
        definition = original(cls, resource_name, cloudformation_json, account_id, region_name)
        for name, attribute in names.items():
            setattr(definition, attribute, cloudformation_json["Properties"].get(name))
        return definition

    TaskDefinition.create_from_cloudformation_json = classmethod(create)


def _managed_policies() -> None:
    """CloudFormation's ManagedPolicyArns of a role are ignored."""
    original = Role.create_from_cloudformation_json.__func__

    def create(
        cls: Any, resource_name: str, cloudformation_json: Any, account_id: str, region_name: str, **_more: Any
    ) -> Any:
        role = original(cls, resource_name, cloudformation_json, account_id, region_name)
        for arn in cloudformation_json["Properties"].get("ManagedPolicyArns", []):
            iam_backends[account_id]["aws"].attach_role_policy(arn, role.name)
        return role

    Role.create_from_cloudformation_json = classmethod(create)


def _signing_keys() -> None:
    """CloudFormation's KeySpec and KeyUsage are ignored: every key would encrypt."""

    def create(_cls: Any, _name: str, cloudformation_json: Any, account_id: str, region_name: str, **_more: Any) -> Any:
        said = cloudformation_json["Properties"]
        key = kms_backends[account_id][region_name].create_key(
            policy=said["KeyPolicy"],
            key_usage=said.get("KeyUsage", "ENCRYPT_DECRYPT"),
            key_spec=said.get("KeySpec", "SYMMETRIC_DEFAULT"),
            description=said.get("Description"),
            tags=said.get("Tags", []),
        )
        key.key_rotation_status, key.enabled = said.get("EnableKeyRotation", False), said.get("Enabled", True)
        return key

    Key.create_from_cloudformation_json = classmethod(create)

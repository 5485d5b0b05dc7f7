"""Operators' calls that moto lacks: stack protection, deletion of dependent resources, simulations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moto.cloudformation.models import cloudformation_backends
from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends

from tidegate_local.aws.gateway import Gateway, Response
from tidegate_local.aws.refusals import Refusal, render
from tidegate_local.aws.requests import Call
from tidegate_local.options import ACCOUNT

_ANSWER = (
    '<UpdateTerminationProtectionResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">'
    "<UpdateTerminationProtectionResult><StackId>{stack}</StackId></UpdateTerminationProtectionResult>"
    "<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata></UpdateTerminationProtectionResponse>"
)

_SIMULATED = (
    '<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><SimulatePrincipalPolicyResult>'
    "<IsTruncated>false</IsTruncated><EvaluationResults>{members}</EvaluationResults></SimulatePrincipalPolicyResult>"
    "<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata></SimulatePrincipalPolicyResponse>"
)
_RESULT = "<member><EvalActionName>{action}</EvalActionName><EvalDecision>allowed</EvalDecision></member>"


def connect(gateway: Gateway, protected: set[str]) -> None:
    """Answer these calls. ``protected`` are the names of stacks that cannot be deleted."""

    def protect(call: Call, _body: bytes, _environ: Mapping[str, Any]) -> Response:
        name = _name(call)
        if name not in _stacks(call.region):
            return render(Refusal("ValidationError", f"Stack [{name}] does not exist", 400), call)
        if call.parameters["EnableTerminationProtection"] == "true":
            protected.add(name)
        else:
            protected.discard(name)
        body = _ANSWER.format(stack=name).encode()
        return Response("200 OK", [("Content-Type", "text/xml")], body)

    def delete(call: Call, _body: bytes, environ: Mapping[str, Any]) -> Response:
        name = _name(call)
        if name in protected:
            text = f"Stack [{name}] cannot be deleted while TerminationProtection is enabled"
            return render(Refusal("ValidationError", text, 400), call)
        if name in _stacks(call.region):
            _untie(name, call.region)
        return gateway.ask_moto(dict(environ))

    handlers: Mapping[str, Callable[[Call, bytes, Mapping[str, Any]], Response]] = {
        "cloudformation:UpdateTerminationProtection": protect,
        "cloudformation:DeleteStack": delete,
        "iam:SimulatePrincipalPolicy": _simulate,
    }
    for name, handler in handlers.items():
        gateway.handle(name, handler)


def _simulate(call: Call, _body: bytes, _environ: Mapping[str, Any]) -> Response:
    """Allow everything: an operator of this account may do anything."""
    asked = [value for name, value in call.parameters.items() if name.startswith("ActionNames.member.")]
    members = "".join(_RESULT.format(action=action) for action in asked)
    return Response("200 OK", [("Content-Type", "text/xml")], _SIMULATED.format(members=members).encode())


def _name(call: Call) -> str:
    """Return the stack's name, also where its id is given: ARN/NAME/UUID."""
    given = str(call.parameters["StackName"])
    return given.split("/")[1] if given.startswith("arn:") else given


def _stacks(region: str) -> dict[str, Any]:
    return {stack.name: stack for stack in cloudformation_backends[ACCOUNT][region].stacks.values()}


def _untie(name: str, region: str) -> None:
    """Take apart what moto would not delete: roles with policies, and a network in an order of its own."""
    iam = iam_backends[ACCOUNT]["aws"]
    resources = _stacks(region)[name].stack_resources
    ids = [getattr(each, "physical_resource_id", None) for each in resources]
    physical = {each for each in ids if isinstance(each, str)}
    for role in [each for each in iam.roles.values() if each.name in physical]:
        role.policies.clear()
        for arn in list(role.managed_policies):
            iam.detach_role_policy(arn, role.name)
    ec2 = ec2_backends[ACCOUNT][region]
    for table in [each for each in ec2.route_tables.values() if each.vpc_id in physical]:
        for association in list(table._associations):  # noqa: SLF001 - the ids, without those of the main table.
            ec2.disassociate_route_table(association)
        if table.main_association_id is None:
            ec2.delete_route_table(table.id)

"""An installation's own network, domain and keys: what the template has of them, and what is refused with its place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.aws.contract import Request, Template, allowed, states
from tests.cdk.own_site import BOUNDARY, CERTIFICATE, KEY, OWN
from tidegate_cdk.permissions import permissions, readable
from tidegate_cdk.props import TidegateProps
from tidegate_cdk.settings import InvalidContext, read_settings
from tidegate_cdk.site_settings import read_site_settings
from tidegate_cdk.sources import ROOT


class Given(dict):
    def try_get_context(self, key):
        return self.get(key)


def test_an_engine_uses_the_operators_key_through_s3_alone_and_does_not_manage_it(behind_gateways):
    template = Template(behind_gateways)
    (role,) = [name for name in template.resources if re.fullmatch(r"RunnersApplyEngineRole\w{8}", name)]
    administrator = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    statements = [*template.role_statements({"Ref": role}), administrator]
    for action in ("kms:ScheduleKeyDeletion", "kms:DisableKey", "kms:PutKeyPolicy", "kms:Decrypt"):
        assert not allowed(statements, Request(action, KEY, {})), action
    through_s3 = {"kms:ViaService": "s3.eu-west-1.amazonaws.com"}
    assert allowed(statements, Request("kms:Decrypt", KEY, through_s3))
    assert allowed(statements, Request("kms:ScheduleKeyDeletion", f"{KEY}0", {}))


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each.get("Properties", {}) for each in template["Resources"].values() if each["Type"] == kind]


def networks(template: dict[str, Any]) -> set[str]:
    """Return what runners are started with, as text: subnets and whether they get an address."""
    found = set()
    for machine in of_type(template, "AWS::StepFunctions::StateMachine"):
        if "DefinitionString" not in machine:
            continue  # The workflows of clusters, which run no task themselves.
        values = machine["DefinitionSubstitutions"]
        definition = json.loads(machine["DefinitionString"])
        if any(state.get("Resource", "").startswith("arn:aws:states:::ecs:runTask") for _, state in states(definition)):
            found.add(json.dumps([values["Subnets"], values["AssignPublicIp"]], sort_keys=True))
    return found


def test_runners_start_in_the_installations_own_subnets_without_an_address(own: dict[str, Any]):
    assert networks(own) == {json.dumps([",".join(OWN["subnets"]), "DISABLED"])}
    assert [each["VpcId"] for each in of_type(own, "AWS::EC2::SecurityGroup")] == [OWN["vpc"]]
    assert not [each["Type"] for each in own["Resources"].values() if each["Type"].startswith("AWS::EC2::VPC")]


def test_runners_behind_a_gateway_have_no_address_of_their_own(behind_gateways: dict[str, Any]):
    assert len(of_type(behind_gateways, "AWS::EC2::NatGateway")) == 1
    (found,) = networks(behind_gateways)
    subnets, address = json.loads(found)
    assert address == "DISABLED"
    assert "runner" in json.dumps(subnets)
    through = [each for each in of_type(behind_gateways, "AWS::EC2::Route") if "NatGatewayId" in each]
    assert len(through) == 2, "each subnet of runners leads to the gateway"


def test_by_default_runners_have_an_address_and_nothing_costs_by_the_hour(template: dict[str, Any]):
    (found,) = networks(template)
    assert json.loads(found)[1] == "ENABLED"
    assert not of_type(template, "AWS::EC2::NatGateway")
    assert not of_type(template, "AWS::KMS::Key")


def test_the_domain_leads_to_the_api_and_is_where_everything_links_to(own: dict[str, Any]):
    (domain,) = of_type(own, "AWS::ApiGatewayV2::DomainName")
    (configured,) = domain["DomainNameConfigurations"]
    assert (domain["DomainName"], configured["EndpointType"]) == ("tidegate.example.com", "REGIONAL")
    assert (configured["CertificateArn"], configured["SecurityPolicy"]) == (CERTIFICATE, "TLS_1_2")
    (mapping,) = of_type(own, "AWS::ApiGatewayV2::ApiMapping")
    assert mapping.keys() == {"ApiId", "DomainName", "Stage"}, "all paths of the domain are the API's"
    (api,) = of_type(own, "AWS::ApiGatewayV2::Api")
    assert api["DisableExecuteApiEndpoint"] is True
    (record,) = of_type(own, "AWS::Route53::RecordSet")
    assert (record["Name"], record["HostedZoneId"]) == ("tidegate.example.com.", "Z0123456789ABC")
    assert own["Outputs"]["WebhookUrl"]["Value"] == "https://tidegate.example.com/webhooks/github"
    assert own["Outputs"]["ApiUrl"]["Value"] == "https://tidegate.example.com"
    assert "DomainTarget" in own["Outputs"]
    linking = [each["Environment"]["Variables"] for each in of_type(own, "AWS::Lambda::Function")]
    urls = {each["TIDEGATE_WEB_URL"] for each in linking if "TIDEGATE_WEB_URL" in each}
    assert urls == {"https://tidegate.example.com"}, "sign-ins return to the domain"


def test_without_a_domain_the_apis_own_address_answers(template: dict[str, Any]):
    (api,) = of_type(template, "AWS::ApiGatewayV2::Api")
    assert not api.get("DisableExecuteApiEndpoint")
    assert "DomainTarget" not in template["Outputs"]


def test_every_role_has_the_boundary(own: dict[str, Any], template: dict[str, Any]):
    assert {each.get("PermissionsBoundary") for each in of_type(own, "AWS::IAM::Role")} == {BOUNDARY}
    assert not any("PermissionsBoundary" in each for each in of_type(template, "AWS::IAM::Role"))


def test_all_logs_are_kept_as_long_as_the_site_says(own: dict[str, Any]):
    assert {each["RetentionInDays"] for each in of_type(own, "AWS::Logs::LogGroup")} == {400}


def test_only_the_webhook_function_has_concurrency_of_its_own(own: dict[str, Any], template: dict[str, Any]):
    reserved = {
        each["Description"]: each["ReservedConcurrentExecutions"]
        for each in of_type(own, "AWS::Lambda::Function")
        if "ReservedConcurrentExecutions" in each
    }
    assert list(reserved.values()) == [20]
    assert "webhook" in next(iter(reserved))
    assert not any("ReservedConcurrentExecutions" in each for each in of_type(template, "AWS::Lambda::Function"))


def key_of(template: dict[str, Any]) -> dict[str, str]:
    """Return how the template refers to its key."""
    (name,) = (name for name, each in template["Resources"].items() if each["Type"] == "AWS::KMS::Key")
    return {"Fn::GetAtt": [name, "Arn"]}


#: Where each type of resource names its key.
KEYED = {
    "AWS::DynamoDB::Table": lambda each: each["SSESpecification"].get("KMSMasterKeyId"),
    "AWS::Lambda::Function": lambda each: each.get("KmsKeyArn"),
    "AWS::Logs::LogGroup": lambda each: each.get("KmsKeyId"),
    "AWS::S3::Bucket": lambda each: each["BucketEncryption"]["ServerSideEncryptionConfiguration"][0][
        "ServerSideEncryptionByDefault"
    ].get("KMSMasterKeyID"),
    "AWS::SNS::Topic": lambda each: each.get("KmsMasterKeyId"),
    "AWS::SQS::Queue": lambda each: each.get("KmsMasterKeyId"),
}


def test_all_that_is_kept_or_sent_is_encrypted_with_the_key(own: dict[str, Any], behind_gateways: dict[str, Any]):
    for template, key in ((own, key_of(own)), (behind_gateways, KEY)):
        for kind, keyed in KEYED.items():
            resources = of_type(template, kind)
            assert resources, kind
            assert [keyed(each) for each in resources] == [key] * len(resources), kind


def test_a_queue_has_one_kind_of_encryption_only(own: dict[str, Any]):
    """SQS refuses both at once."""
    assert not any("SqsManagedSseEnabled" in each for each in of_type(own, "AWS::SQS::Queue"))


def may(template: dict[str, Any], principal: dict[str, Any], action: str, **context: str) -> bool:
    """Decide by the key's own policy."""
    (key,) = of_type(template, "AWS::KMS::Key")
    about = [each for each in key["KeyPolicy"]["Statement"] if _about(each["Principal"], principal)]
    return allowed(about, Request(action, "*", context))


def _about(named: Any, principal: dict[str, Any]) -> bool:
    if named == {"AWS": "*"}:
        return "AWS" in principal
    services = named.get("Service", [])
    return principal.get("Service") in (services if isinstance(services, list) else [services])


CALLER = {"AWS": "a role of the installation"}


@pytest.mark.parametrize("service", ["dynamodb", "lambda", "s3", "sns", "sqs"])
@pytest.mark.parametrize("action", ["kms:Decrypt", "kms:GenerateDataKey", "kms:DescribeKey"])
def test_callers_of_the_account_use_the_key_through_services_alone(own: dict[str, Any], service: str, action: str):
    via = {"kms:ViaService": f"{service}.REGION.amazonaws.com"}
    assert may(own, CALLER, action, **via, **{"kms:CallerAccount": "ACCOUNT"})
    assert not may(own, CALLER, action, **via, **{"kms:CallerAccount": "OTHER"})
    assert not may(own, CALLER, action, **{"kms:CallerAccount": "ACCOUNT"}), "not by themselves"


@pytest.mark.parametrize("service", ["cloudwatch", "events"])
@pytest.mark.parametrize("action", ["kms:Decrypt", "kms:GenerateDataKey"])
def test_alarms_and_rules_may_publish_to_encrypted_topics_and_queues(own: dict[str, Any], service: str, action: str):
    """They send no condition keys, and KMS's own keys tell nothing of the account that made the rule."""
    assert may(own, {"Service": f"{service}.amazonaws.com"}, action)


def logs_service(template: dict[str, Any]) -> dict[str, Any]:
    """Return CloudWatch Logs as the policy names it: "the service principal for the Region"."""
    (key,) = of_type(template, "AWS::KMS::Key")
    (found,) = (each["Principal"] for each in key["KeyPolicy"]["Statement"] if each.get("Sid") == "Logs")
    return found


@pytest.mark.parametrize("action", ["kms:Encrypt", "kms:Decrypt", "kms:GenerateDataKey", "kms:DescribeKey"])
def test_logs_of_this_account_alone_are_encrypted(own: dict[str, Any], action: str):
    service = logs_service(own)
    assert "logs." in json.dumps(service)
    context = {"kms:EncryptionContext:aws:logs:arn": "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/any"}
    assert may(own, service, action, **context)
    assert not may(own, service, action, **{name: text.replace("ACCOUNT", "OTHER") for name, text in context.items()})


def test_the_key_stays_with_what_it_encrypts_and_is_rotated(own: dict[str, Any]):
    (resource,) = (each for each in own["Resources"].values() if each["Type"] == "AWS::KMS::Key")
    assert (resource["DeletionPolicy"], resource["Properties"]["EnableKeyRotation"]) == ("Retain", True)


@pytest.mark.parametrize(
    ("kind", "actions"),
    [
        ("Plan", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("Apply", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("Speculate", {"kms:Decrypt"}),
    ],
)
def test_engines_use_the_key_of_the_states_as_far_as_they_use_the_states(
    own: dict[str, Any], kind: str, actions: set[str]
):
    found = [each for each in permissions(own) if each.role == f"Runners{kind}EngineRole" and KEY in each.resources]
    assert {action for each in found for action in each.actions} == actions
    assert {each.condition for each in found} == {"kms:ViaService StringLike s3.*.amazonaws.com"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vpc", "vpc-XYZ"),
        ("subnets[1]", ["subnet-0123456789abcdef0", "here"]),
        ("subnets", [f"subnet-0123456789abcde{at:02x}" for at in range(17)]),
        ("subnets[0]", "[not JSON"),
        ("nat_gateways", "3"),
        ("domain", "https://tidegate.example.com"),
        ("certificate", "arn:aws:iam::123456789012:server-certificate/x"),
        ("hosted_zone", "example.com"),
        ("execute_api_endpoint", "no"),
        ("kms_key", "alias/mine"),
        ("state_kms_key", "mine"),
        ("permissions_boundary", "has space"),
        ("log_retention_days", "100"),
        ("webhook_concurrency", "0"),
        ("runner_public_ip", "yes"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(key: str, value: object):
    whole = {**OWN, key.partition("[")[0]: value}
    with pytest.raises(InvalidContext, match=f"Context key {key.replace('[', chr(92) + '[')} is "):
        read_site_settings(Given(whole))


@pytest.mark.parametrize(
    ("missing", "given"),
    [
        ("subnets", {"vpc": OWN["vpc"]}),
        ("vpc", {"subnets": OWN["subnets"]}),
        ("certificate", {"domain": OWN["domain"]}),
        ("domain", {"certificate": CERTIFICATE}),
        ("domain", {"hosted_zone": OWN["hosted_zone"]}),
        ("execute_api_endpoint", {"execute_api_endpoint": "false"}),
        ("nat_gateways", {"vpc": OWN["vpc"], "subnets": OWN["subnets"], "nat_gateways": "1"}),
        ("runner_public_ip", {"runner_public_ip": "true"}),
    ],
)
def test_halves_and_contradictions_are_refused(missing: str, given: dict[str, Any]):
    with pytest.raises(InvalidContext, match=f"Context key {missing} is "):
        read_site_settings(Given(given))


def test_subnets_may_be_given_on_the_command_line_and_as_props():
    one, other = OWN["subnets"]
    assert read_site_settings(Given(vpc=OWN["vpc"], subnets=f"{one},{other}")).subnets == (one, other)
    props = TidegateProps(vpc=OWN["vpc"], subnets=(one,), runner_public_ip=True, log_retention_days=30)
    site = read_settings(props).site
    assert (site.subnets, site.runners_are_public, site.retention) == ((one,), True, 30)


def test_nothing_is_set_by_default():
    site = read_site_settings(Given())
    assert (site.vpc, site.domain, site.key, site.boundary, site.retention) == ("", "", "", "", None)
    assert (site.runners_are_public, site.has_own_endpoint, site.gateways) == (True, True, 0)


def test_the_page_shows_the_statements_of_the_key(own: dict[str, Any]):
    """Who brings a key copies them: they are those of the key that the stack makes."""
    page = (ROOT / "docs/site.md").read_text(encoding="utf-8")
    (shown,) = (block for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if "kms:ViaService" in block)
    (key,) = of_type(own, "AWS::KMS::Key")
    made = json.loads(_read(key["KeyPolicy"]["Statement"][1:]))
    for statement in made:
        statement.pop("Sid")
    assert json.loads(shown) == made


def _read(value: Any) -> str:
    """Return JSON with its references as texts."""

    def plain(part: Any) -> Any:
        if isinstance(part, dict):
            is_reference = len(part) == 1 and next(iter(part)).startswith(("Ref", "Fn::"))
            return readable(part) if is_reference else {name: plain(each) for name, each in part.items()}
        return [plain(each) for each in part] if isinstance(part, list) else part

    return json.dumps(plain(value))

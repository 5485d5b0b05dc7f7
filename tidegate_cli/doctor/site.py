"""A site's network, domain and keys, which synth cannot check: routes, certificates, key states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate_cli.doctor.result import Result, reason_of

_EVERYWHERE = "0.0.0.0/0"
_REGION_OF_ARN = 3


class SiteChecks:
    """Asks AWS about what ``cdk.json`` names. ``client`` gives the caller's client of a service."""

    def __init__(self, context: Mapping[str, Any], client: Callable[[str], Any], region: str) -> None:
        self._context, self._client, self._region = context, client, region

    def results(self) -> Iterator[Result]:
        """Yield what each check found; what is not set is not checked."""
        if self._context.get("vpc"):
            yield from self._subnets()
        if self._context.get("certificate"):
            yield self._asked("certificate", self._certificate)
        for key in ("kms_key", "state_kms_key"):
            if str(self._context.get(key) or "").startswith("arn:"):
                yield self._asked(key, partial(self._key, key))

    def _asked(self, check: str, ask: Callable[[], Result]) -> Result:
        try:
            return ask()
        except ClientError as error:
            said = reason_of(error)
            if any(word in error.response["Error"]["Code"] for word in ("AccessDenied", "Unauthorized")):
                return Result(check, "warn", said, "Allow this call for the check.")
            return Result(check, "fail", said, "Correct it in cdk.json.")
        except BotoCoreError as error:
            return Result(check, "warn", reason_of(error), "Try again.")

    def _subnets(self) -> Iterator[Result]:
        given = self._context.get("subnets") or []
        for subnet in map(str.strip, given.split(",") if isinstance(given, str) else given):
            yield self._asked(f"subnet {subnet}", partial(self._subnet, subnet))

    def _subnet(self, subnet: str) -> Result:
        """Look where a runner's packets go: it has to reach the forge, registries and AWS."""
        check, vpc = f"subnet {subnet}", str(self._context["vpc"])
        (found,) = self._client("ec2").describe_subnets(SubnetIds=[subnet])["Subnets"]
        if found["VpcId"] != vpc:
            return Result(
                check, "fail", f"It is in {found['VpcId']}, not in {vpc}.", "Correct vpc or subnets in cdk.json."
            )
        gateway = self._way_out(subnet, vpc)
        if not gateway:
            do = "Add a route to a NAT gateway, or omit vpc: the stack then creates a network with internet access."
            return Result(check, "fail", f"It has no route to {_EVERYWHERE}: runners would not start.", do)
        if gateway.startswith("igw-") and str(self._context.get("runner_public_ip") or "false").lower() != "true":
            do = "Set runner_public_ip to true, or name subnets behind a NAT gateway."
            return Result(check, "fail", "It is public, and runners get no public IP address.", do)
        return Result(check, "ok", f"Runners reach the internet by {gateway}.")

    def _way_out(self, subnet: str, vpc: str) -> str:
        """Return what the subnet's default route leads to. Without a table of its own it has the VPC's main one."""
        ask = self._client("ec2").describe_route_tables
        tables = ask(Filters=[{"Name": "association.subnet-id", "Values": [subnet]}])["RouteTables"]
        if not tables:
            main = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
            tables = ask(Filters=main)["RouteTables"]
        for route in (route for table in tables for route in table["Routes"]):
            if route.get("DestinationCidrBlock") == _EVERYWHERE and route.get("State", "active") == "active":
                return str(next((value for name, value in sorted(route.items()) if name.endswith("Id")), "a gateway"))
        return ""

    def _certificate(self) -> Result:
        arn, domain = str(self._context["certificate"]), str(self._context.get("domain") or "")
        if problem := self._elsewhere(arn):
            return Result("certificate", "fail", problem, "Request it in the region of the installation.")
        found = self._client("acm").describe_certificate(CertificateArn=arn)["Certificate"]
        if found["Status"] != "ISSUED":
            do = "Add the records that ACM asks for to the domain's zone, and wait until it is issued."
            return Result("certificate", "fail", f"Its status is {found['Status']}.", do)
        names = found.get("SubjectAlternativeNames") or [found["DomainName"]]
        if not any(_covers(name, domain) for name in names):
            return Result(
                "certificate",
                "fail",
                f"It is for {', '.join(names)}, not for {domain}.",
                "Request another certificate.",
            )
        return Result("certificate", "ok", f"It is for {domain}.")

    def _key(self, key: str) -> Result:
        arn = str(self._context[key])
        if key == "kms_key" and (problem := self._elsewhere(arn)):
            return Result(key, "fail", problem, "Name a key in the region of the installation.")
        found = self._client("kms").describe_key(KeyId=arn)["KeyMetadata"]
        if found["KeyState"] != "Enabled":
            return Result(key, "fail", f"Its state is {found['KeyState']}.", "Enable it, or name another.")
        if found.get("KeySpec", "SYMMETRIC_DEFAULT") != "SYMMETRIC_DEFAULT":
            return Result(key, "fail", f"It is a key of {found['KeySpec']}.", "Name a symmetric key for encryption.")
        return Result(key, "ok", "It is enabled.")

    def _elsewhere(self, arn: str) -> str:
        region = arn.split(":")[_REGION_OF_ARN]
        return "" if region == self._region else f"It is in {region}, the installation in {self._region}."


def _covers(name: str, domain: str) -> bool:
    """Tell whether a certificate's name is for a host. A star stands for one label."""
    return name == domain or (name.startswith("*.") and name[2:] == domain.partition(".")[2])

"""Whether clouds can verify tokens of jobs: the issuer's public documents, and the states of its keys."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate_cli.doctor.result import Result, reason_of

_SECONDS = 10
#: Tokens are valid from a minute before they are made.
_MOST_SKEW = 60
_DISCOVERY = "/.well-known/openid-configuration"
#: What brings a key back, by its state (AWS KMS, Key states of AWS KMS keys).
_MENDED = {
    "Disabled": "Enable it (`aws kms enable-key`)",
    "PendingDeletion": "Keep it (`aws kms cancel-key-deletion`, then `aws kms enable-key`)",
    "PendingImport": "Its imported key material has expired or was deleted: import the same again",
    "Unavailable": "Connect its custom key store again",
}
_DEPLOY = "Run `make deploy`, and `tidegate doctor` once more."


class IdentityChecks:
    """Asks the deployed stack for its issuer, and the issuer what it publishes. ``get`` reads an address."""

    def __init__(
        self,
        stack: str,
        client: Callable[[str], Any],
        get: Callable[[str], tuple[Mapping[str, Any], str]] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._stack, self._client, self._get, self._now = stack, client, get or _read, now

    def results(self) -> Iterator[Result]:
        """Yield what each check found. Before the first deploy with keys there is no issuer, which is told."""
        try:
            outputs = self._outputs()
        except (BotoCoreError, ClientError) as error:
            yield Result("issuer", "warn", reason_of(error), "Deploy Tidegate first.")
            return
        issuer, keys = outputs.get("Issuer", ""), outputs.get("IdentityKeys", "")
        if not issuer:
            yield Result("issuer", "warn", "The deployed stack has no workload identity keys.", _DEPLOY)
            return
        yield from map(self._key, keys.split(","))
        yield from self._published(issuer, [key.rpartition("/")[2] for key in keys.split(",")])

    def _outputs(self) -> Mapping[str, str]:
        (found,) = self._client("cloudformation").describe_stacks(StackName=self._stack)["Stacks"]
        return {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])}

    def _key(self, arn: str) -> Result:
        check = f"identity key {arn.rpartition('/')[2]}"
        try:
            state = self._client("kms").describe_key(KeyId=arn)["KeyMetadata"]["KeyState"]
        except (BotoCoreError, ClientError) as error:
            return Result(check, "warn", reason_of(error), "Allow kms:DescribeKey.")
        if state != "Enabled":
            first = _MENDED.get(state, "Check it in the KMS console")
            do = f"{first}, or remove its name from identity_keys and deploy."
            return Result(check, "fail", f"Its state is {state}: it neither signs nor verifies.", do)
        return Result(check, "ok", "It is enabled.")

    def _published(self, issuer: str, keys: list[str]) -> Iterator[Result]:
        check, do = f"issuer {issuer}", "Its URL must lead to Tidegate's HTTP API, publicly and with TLS."
        if not issuer.startswith("https://"):
            yield Result(check, "fail", "IAM, Google and Azure trust https:// issuers only.", do)
            return
        try:
            found, date = self._get(f"{issuer}{_DISCOVERY}")
            listed, _ = self._get(str(found["jwks_uri"]))
            kids = [str(key["kid"]) for key in listed["keys"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            yield Result(check, "fail", reason_of(error), do)
            return
        missing = [key for key in keys if key not in kids]
        if found.get("issuer") != issuer:
            yield Result(
                check, "fail", f"The document names the issuer {found.get('issuer')!r}.", "Correct web_url in cdk.json."
            )
        elif missing:
            yield Result(check, "fail", f"It does not publish {', '.join(missing)}.", "Enable these keys, or deploy.")
        else:
            yield Result(check, "ok", f"{len(kids)} keys are published, including all keys of the stack.")
        yield from self._skew(date)

    def _skew(self, date: str) -> Iterator[Result]:
        try:
            away = abs((parsedate_to_datetime(date) - self._now()).total_seconds())
        except (TypeError, ValueError):
            return
        if away > _MOST_SKEW:
            do = "Correct this machine's clock. If it is right, contact AWS Support."
            yield Result("clock", "warn", f"It differs from the issuer's clock by {away:.0f} s.", do)


def _read(address: str) -> tuple[Mapping[str, Any], str]:
    """Return the JSON at an address, and when it was answered. Raise OSError, ValueError."""
    if not address.startswith("https://"):
        raise ValueError(f"The URL {address} does not begin with https://")
    with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310  # https alone, checked above.
        return json.loads(answer.read()), str(answer.headers.get("Date", ""))

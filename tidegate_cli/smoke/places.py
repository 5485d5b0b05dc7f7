"""Where a smoke test runs: an AWS account, or a local cloud. All else is the same for both."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tidegate_cli import aws
from tidegate_cli.problems import Refused, WrongUsage
from tidegate_cli.smoke.course import StepFailed, Within
from tidegate_cli.smoke.names import Names

#: Lines of the CDK's output that a failure shows.
_LAST = 6
#: What the CDK has to end after an interrupt.
_END_SECONDS = 20.0
_APP = Path("tidegate_cdk/command.py")


@dataclass(frozen=True, slots=True)
class App:
    """The GitHub App: its number and key, and where the forge and its API are. ``token`` is the person's own."""

    number: str
    private_key: str
    forge_url: str
    api_url: str
    token: str


class Place(Protocol):
    """What differs between AWS and a local cloud."""

    region: str
    #: Seconds between two looks, and those for which a plan is held so that its runner can be stopped.
    pause: float
    hold: int

    def client(self, service: str) -> Any:
        """Return the caller's client for a service."""

    def deploy(self, context: Mapping[str, str], within: Within) -> None:
        """Deploy the template with this context, anew or over what is there. Raise StepFailed."""

    def close(self) -> None:
        """End what was started on this machine."""


class AwsPlace:
    """The account and region of the caller's credentials; the CDK deploys, from this checkout."""

    pause, hold = 3.0, 90

    def __init__(self, names: Names) -> None:
        self._names = names
        self.region = _region()
        self.log = Path("build") / "smoke" / f"{names.prefix}.log"

    def client(self, service: str) -> Any:
        return aws.client(service)

    def deploy(self, context: Mapping[str, str], within: Within) -> None:
        given = [word for key, value in context.items() for word in ("-c", f"{key}={value}")]
        output = str(Path("build") / "smoke" / self._names.prefix)
        options = ["--require-approval", "never", "--progress", "events", "--ci", "--output", output]
        # A path of uv for the layer: where make setup puts it.
        path = os.pathsep.join([str(Path(".uv/bin").resolve()), os.environ.get("PATH", os.defpath)])
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            done = _ended(
                [sys.executable, "-m", "tidegate_cdk.command", "deploy", *options, *given],
                {**os.environ, "PATH": path, "AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region},
                log,
                within.left,
            )
        if done is None:
            self._fail(f"cdk deploy did not end within {within.seconds / 60:g} min.")
        if done:
            self._fail(f"cdk deploy ended with {done}.")

    def _fail(self, what: str) -> None:
        last = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()][-_LAST:]
        look_at = f"{self.log}, and the events of the stack {self._names.stack} in the CloudFormation console."
        raise StepFailed("\n".join([what, *last]), look_at)

    def close(self) -> None:
        """Nothing was started here."""


def _ended(argv: list[str], environ: Mapping[str, str], log: Any, seconds: float) -> int | None:
    """Return a program's exit code, or None when it was ended after its time, with all that it started."""
    process = subprocess.Popen(
        argv, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a program and what it started, then kill what is left of them."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGINT)
        process.wait(_END_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _region() -> str:
    import boto3

    region = os.environ.get("AWS_REGION") or boto3.session.Session().region_name
    if not region:
        raise WrongUsage("No AWS region is set.", "Set AWS_REGION, or a region in the profile.")
    return str(region)


class LocalPlace:
    """A local cloud of its own, in which nothing is installed yet, with a stand-in for GitHub."""

    pause, hold = 0.2, 20

    def __init__(self, names: Names) -> None:
        from tidegate_local.client import LocalCloud, LocalCloudFailed
        from tidegate_local.options import PROJECT

        # Engines that are told to stop have less time here than on AWS (100 s): nothing is slow.
        stop = {"TIDEGATE_STOP_SECONDS": "3"}
        self.names = names
        self.log = PROJECT / "build" / "smoke" / f"{names.prefix}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.cloud = LocalCloud(prefix=names.prefix, installs=False, environment=stop, log=self.log)
        try:
            self.cloud.start()
        except LocalCloudFailed as error:
            raise Refused(f"The local cloud did not start: {error}") from error
        self.region = str(self.cloud.info["region"])

    def app(self) -> App:
        """Return the App of the local forge, and the maintainer's token."""
        known, info = self.cloud.read("app"), self.cloud.info
        return App(known["app_id"], known["private_key"], info["forge_url"], info["forge_api_url"], token="maintainer")  # noqa: S106 - everybody knows it.

    def client(self, service: str) -> Any:
        return self.cloud.client(service)

    def deploy(self, context: Mapping[str, str], within: Within) -> None:  # noqa: ARG002 - it takes seconds.
        from tidegate_local.client import LocalCloudFailed

        try:
            self.cloud.deploy(context)
        except LocalCloudFailed as error:
            raise StepFailed(str(error), str(self.log)) from error

    def close(self) -> None:
        self.cloud.stop()


def require_checkout() -> None:
    """Raise Refused outside of a checkout: the CDK deploys what lies there."""
    if not (_APP.is_file() and Path("cdk.json").is_file()):
        raise Refused(
            "This directory is no checkout of Tidegate: it has no cdk.json.",
            "Run the command in a checkout, after `make setup`.",
        )

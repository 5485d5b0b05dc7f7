"""Deploys a root by Tidegate, and by hand, and measures both."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import roots
from bench.relay import VISIBILITY_SECONDS, Relay, Sent
from tidegate_local import mirror
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient

#: Where a queue's worker waits for the next deployment.
IDLE = "Wait for a revision or an unlock"


_ENTERED = "stateEnteredEventDetails"


class DeployFailed(Exception):
    """A deploy or a command did not succeed; the message says what it said."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deploy by Tidegate: epoch seconds of its first and last moment, its id, and the webhooks between."""

    began: float
    ended: float
    deployment: str
    webhooks: tuple[Sent, ...]

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Bench:
    """A local cloud with warm functions, and two repositories: Tidegate's and the one that is deployed by hand."""

    def __init__(self, cloud: LocalCloud, relay: Relay, directory: Path) -> None:
        self.cloud, self._relay, self._directory = cloud, relay, directory
        self.forge = ForgeClient(cloud.info["forge_url"], "maintainer")
        self._reviewer = ForgeClient(cloud.info["forge_url"], "reviewer")
        self._number = 0

    def whole(self, kind: str, before_approving: Callable[[], None] = lambda: None) -> Deployed:
        """Push a root of this kind; return when its check run has completed, approved at once. Raise DeployFailed."""
        key = self._key()
        name, sha = f"tidegate/deploy: {kind}", self._push(roots.REPOSITORY, kind, key)
        seen: list[Sent] = []
        while True:
            sent = self._relay.next()
            if _commit(sent) != sha:
                continue
            seen.append(sent)
            run = sent.payload.get("check_run", {})
            if sent.event != "check_run" or sent.payload["action"] != "completed" or run["name"] != name:
                continue
            if run["conclusion"] == "action_required":
                before_approving()
                self._reviewer.click(roots.REPOSITORY, run["id"], "Approve")
            elif run["conclusion"] == "success":
                self._settle()
                return Deployed(seen[0].at, sent.at, run["external_id"], tuple(seen))
            elif run["conclusion"] != "neutral":
                raise DeployFailed(f"{run['conclusion']}: {run['output']['title']}\n{run['output']['summary']}")

    def bare(self, kind: str) -> dict[str, float]:
        """Deploy a root of this kind by the bare commands; return the seconds of each. Raise DeployFailed."""
        key = self._key()
        repository = f"{roots.REPOSITORY}-by-hand"
        self._push(repository, kind, key)
        place = self._directory / key
        commands = {
            "git clone": ["git", "clone", "--quiet", self.forge.clone_url(repository), str(place)],
            "init": ["terraform", "init", "-input=false", "-no-color"],
            "plan": ["terraform", "plan", "-input=false", "-no-color", "-out=plan.tfplan"],
            "show": ["terraform", "show", "-json", "plan.tfplan"],
            "apply": ["terraform", "apply", "-input=false", "-no-color", "plan.tfplan"],
        }
        environ = by_hand(self.cloud, self._directory)
        return {
            name: timed(command, self._directory if name == "git clone" else place / kind, environ)
            for name, command in commands.items()
        }

    def _settle(self) -> None:
        """Wait until the queue's worker waits again: the next deploy must not queue behind this one's last steps."""
        until = time.monotonic() + VISIBILITY_SECONDS
        while time.monotonic() < until:
            events = [event for name, event in history(self.cloud, "deploy") if name == "RUNNING"]
            entered = [event[_ENTERED]["name"] for event in events if _ENTERED in event]
            if entered[-1:] == [IDLE] and events[-1]["type"] == "TaskSubmitted":
                return
            time.sleep(0.05)
        raise DeployFailed("The queue's worker did not become idle.")

    def _key(self) -> str:
        self._number += 1
        return f"run-{self._number}"

    def _push(self, repository: str, kind: str, key: str) -> str:
        files = roots.files(kind, key, self.cloud.info["state_bucket"])
        return self.forge.push(repository, files, f"Deploy {key}")


def by_hand(cloud: LocalCloud, directory: Path) -> dict[str, str]:
    """Return the environment of bare commands: an operator's, with what a runner has of providers."""
    keys = {"AWS_ACCESS_KEY_ID": "operator", "AWS_SECRET_ACCESS_KEY": "operator"}
    return {
        **mirror.environment(directory, os.environ),
        **keys,
        "AWS_ENDPOINT_URL": cloud.info["aws_endpoint_url"],
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": cloud.info["region"],
        "CHECKPOINT_DISABLE": "1",
        "HOME": str(directory),
        "PATH": os.environ["PATH"],
    }


@contextmanager
def bench(*, quick: bool = False, **options: Any) -> Iterator[Bench]:
    """Start a local cloud for benchmarks, with these options.

    ``quick`` leaves functions cold: those that are used start when they are.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, LocalCloud(**options) as cloud:
        forge = ForgeClient(cloud.info["forge_url"], "maintainer")
        with Relay(cloud.info["webhook_url"], roots.REPOSITORY) as relay:
            if not quick:
                cloud.warm()
            # Made before webhooks are looked at: only the one repository's pushes are Tidegate's to deploy.
            forge.push(roots.REPOSITORY, {"README.md": "# Roots\n"}, "Begin")
            forge.push(f"{roots.REPOSITORY}-by-hand", {"README.md": "# Roots\n"}, "Begin")
            forge.point_webhook_at(relay.url, cloud.info["webhook_secret"])
            yield Bench(cloud, relay, Path(directory))


def history(cloud: LocalCloud, machine: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every event of every execution of a state machine, with the execution's status."""
    client = cloud.client("stepfunctions")
    for execution in client.list_executions(stateMachineArn=cloud.info["state_machines"][machine])["executions"]:
        pages = client.get_paginator("get_execution_history").paginate(executionArn=execution["executionArn"])
        for event in (event for page in pages for event in page["events"]):
            yield execution["status"], event


def _commit(sent: Sent) -> Any:
    return sent.payload.get("after") or sent.payload.get("check_run", {}).get("head_sha")


def timed(command: list[str], place: Path, environ: dict[str, str]) -> float:
    """Run a command; return the seconds that it took. Raise DeployFailed."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise DeployFailed(f"{command}: {done.stderr}")
    return seconds

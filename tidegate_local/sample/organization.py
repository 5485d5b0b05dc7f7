"""Fill a local cloud as people would: by pushes, pull requests, reviews and locks.

All of it is made by the product itself, and is as old as the cloud. Only the insights of the month before are written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate.insights.adapters.days import DynamoInsights
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient
from tidegate_local.sample import files
from tidegate_local.sample.files import ANALYTICS, CLUSTERS, PLATFORM
from tidegate_local.sample.past import past_days
from tidegate_local.updates_client import ApiAnswered, ask

CONTENT = (
    "It is filled: acme/platform has ten roots in four stacks, a change that waits for its review in staging, three "
    "open pull requests, drift and a lock; acme/analytics has a failure; acme/clusters has two clusters, one of which "
    "waits for a review. Everything was done a moment ago; only the insights of acme/platform reach back a month."
)
"""What there is, for people."""
_POLL_SECONDS = 0.2
#: A laptop needs less than a minute; a machine that does much else needs more.
_LIMIT_SECONDS = 600.0
_WAITS = "awaiting_review"
#: How many roots each repository has.
_ROOTS = {PLATFORM: 10, ANALYTICS: 2, CLUSTERS: 2}
#: What is left for people to review at the end: everything else that waits is approved.
_LEFT = frozenset({(CLUSTERS, "shop")})
_LOCKED, _DRIFTED = "prod/database", "prod/network"


class SampleFailed(Exception):
    """Something did not happen in time. The message says what."""


@dataclass(slots=True)
class Organization:
    """A local cloud, and what is told of the steps to fill it."""

    cloud: LocalCloud
    begins: Callable[[str], None]
    _approved: set[str] = field(default_factory=set)

    def fill(self) -> None:
        """Fill the cloud. Raise SampleFailed, ApiAnswered and ForgeAnswered."""
        self.begins("pushing three repositories")
        maintainer, developer = self._person("maintainer"), self._person("developer")
        maintainer.push(PLATFORM, self._platform, "Add the network, the databases and the shop")
        maintainer.push(CLUSTERS, files.clusters(), "Declare a management and a workload cluster")
        developer.push(ANALYTICS, files.analytics(self._bucket), "Add the warehouse and its reports")
        self.begins("deploying twelve roots and a cluster")
        self._until("Everything is deployed", self._is_deployed)
        self.begins("planning four pull requests, detecting drift")
        self._change_by_hand()
        opened = [self._propose(**proposal) for proposal in files.PROPOSALS]
        self._until("The pull requests are planned", lambda: all(map(self._is_planned, opened)))
        maintainer.merge_pull_request(PLATFORM, opened[0])
        self._ask("POST", "/queue/lock", {"repository": PLATFORM, "root": _LOCKED, "reason": files.REASON})
        self.begins("deploying a change to dev")
        self._until("The change waits for its review in staging", lambda: self._state("staging/shop") == _WAITS)
        self._until("The drift is found", self._has_drifted)
        self._remember()

    def _remember(self) -> None:
        """Write the insights of the month before."""
        client = self.cloud.client("dynamodb")
        (table,) = client.list_tables()["TableNames"]
        insights = DynamoInsights(client, table)
        for day in past_days(datetime.now(UTC)):
            insights.save(day)

    @property
    def _bucket(self) -> str:
        return str(self.cloud.info["state_bucket"])

    @property
    def _platform(self) -> Mapping[str, str]:
        return files.platform(self._bucket)

    def _is_deployed(self) -> bool:
        settled = [self._has_settled(repository, count) for repository, count in _ROOTS.items()]  # Approve in each.
        return all(settled)

    def _has_settled(self, repository: str, count: int) -> bool:
        """Approve what waits for a review. Tell whether all else has ended."""
        roots = self._roots(repository)
        running = [root["running"] for root in roots if root["running"]]
        waiting = [each for each in running if each["state"] == _WAITS]
        left = [each for each in waiting if (repository, each["root"]) in _LEFT]
        for each in waiting:
            if each not in left:
                self._approve(each["id"])
        return len(roots) == count and running == left

    def _approve(self, deployment: str) -> None:
        if deployment in self._approved:
            return
        digest = self._ask("GET", f"/deployments/{deployment}")["plan_digest"]
        answer = {"decision": "approve", "plan_digest": digest}
        self._ask("POST", f"/deployments/{deployment}/review", answer, by="reviewer")
        self._approved.add(deployment)

    def _propose(self, branch: str, title: str, edits: Mapping[str, tuple[str, str]], *, draft: bool = False) -> int:
        """Open a pull request of the developer; return its number."""
        developer, before = self._person("developer"), self._platform
        edited = {path: before[path].replace(*edit) for path, edit in edits.items()}
        developer.push(PLATFORM, edited, title, branch=branch, base="main")
        return developer.open_pull_request(PLATFORM, branch, title=title, draft=draft)

    def _is_planned(self, number: int) -> bool:
        found = self._found(f"/pulls/{PLATFORM}/{number}")
        return bool(found and found["verdict"])

    def _change_by_hand(self) -> None:
        """Change a state as somebody does who applies from a laptop, and detect that as drift."""
        s3, place = self.cloud.client("s3"), {"Bucket": self._bucket, "Key": f"platform/{_DRIFTED}.tfstate"}
        state = json.loads(s3.get_object(**place)["Body"].read())
        vpc = next(each for each in state["resources"] if each["name"] == "vpc")["instances"][0]["attributes"]
        for attribute in ("input", "output"):
            vpc[attribute]["value"]["cidr"] = "10.12.0.0/15"
        state["serial"] += 1
        s3.put_object(**place, Body=json.dumps(state).encode())
        self._ask("POST", "/drift/look", {"repository": PLATFORM, "schedule": files.SCHEDULE})

    def _has_drifted(self) -> bool:
        schedules = self._ask("GET", f"/drift?repository={PLATFORM}")["schedules"]
        return any(each["looked_at"] and not each["running"] for each in schedules)

    def _state(self, root: str) -> str:
        """Return the state of what runs of a root of the platform, empty if nothing does."""
        running = next(each["running"] for each in self._roots(PLATFORM) if each["name"] == root)
        return str(running["state"]) if running else ""

    def _roots(self, repository: str) -> list[dict[str, Any]]:
        found = self._found(f"/repositories/{repository}/roots")
        return list(found["roots"]) if found else []

    def _found(self, path: str) -> dict[str, Any] | None:
        try:
            return self._ask("GET", path)
        except ApiAnswered as refused:
            if refused.is_missing:
                return None
            raise

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, by: str = "maintainer"
    ) -> dict[str, Any]:
        return ask(method, f"{self.cloud.info['api_url']}/api/v1{path}", by, body)

    def _person(self, name: str) -> ForgeClient:
        return ForgeClient(str(self.cloud.info["forge_url"]), name)

    def _until(self, what: str, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + _LIMIT_SECONDS
        while not is_so():
            if time.monotonic() > end:
                raise SampleFailed(f"{what}: this did not happen within {_LIMIT_SECONDS:.0f} s.")
            time.sleep(_POLL_SECONDS)

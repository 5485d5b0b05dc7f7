"""The soak's harness: a local cloud, a repository with roots, people, and what is known of its check runs."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from soak.clone import Clone
from soak.history import Act, Gated, Look, Verdict
from soak.modules import Site
from soak.stacks import TIERS, tier_of
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeAnswered, ForgeClient

#: Their roots have the same names: what happens to one may not touch the other.
REPOSITORIES = ("acme/soak", "acme/other")
WRITERS = ("maintainer", "reviewer", "developer")
#: May look, and nothing else: their clicks must have no effect.
ONLOOKERS = ("visitor",)
CHECK, _OF_PULLS, _OF_DRIFT = "tidegate/deploy: ", ("tidegate/plan", "tidegate/policy: "), "tidegate/drift: "
#: Commits, and heads of pull requests, whose check runs are looked at in each round: people, too, look at what is new.
_CHECKED, _PULLS_LOOKED_AT = 10, 4
#: Deployments in progress for each root at which nobody pushes any more.
_CROWD = 1
#: How check runs are titled that wait for others of their change; and one that does not.
_WAITS, _LOCKED = re.compile(r"Waiting for|Blocked: "), "Blocked: the queue is locked"
_WORD = re.compile(r"[\w-]+")

CheckRun = Mapping[str, Any]


@dataclass
class Harness:
    """Everything that the events of a soak work on. ``done`` counts them, ``struck`` the troubles, by kind.

    ``outages`` and ``cuts`` are the faults that strike applies, of whichever repository.
    """

    cloud: LocalCloud
    repository: str
    clone: Clone
    site: Site
    roots: list[str]
    chance: random.Random
    app: Mapping[str, str]
    acts: list[Act] = field(default_factory=list)
    board: dict[int, CheckRun] = field(default_factory=dict)
    gates: dict[tuple[int, str], Gated] = field(default_factory=dict)
    verdicts: dict[Verdict, str] = field(default_factory=dict)
    drift: dict[int, CheckRun] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list)
    pulls: list[tuple[int, str]] = field(default_factory=list)
    every_pull: list[tuple[int, str, list[str]]] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    outages: list[str] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)
    marks: int = 0
    clicked: dict[int, float] = field(default_factory=dict)

    def person(self, name: str) -> ForgeClient:
        """Return somebody at the forge."""
        return ForgeClient(self.cloud.info["forge_url"], name)

    @property
    def maintainer(self) -> ForgeClient:
        """Whoever looks at check runs and pulls the forge's levers."""
        return self.person("maintainer")

    def new_modules(self, roots: list[str], **more: int) -> dict[str, str]:
        """Return files that change these roots, each with a mark that was never used before."""
        files = {}
        for root in roots:
            self.marks += 1
            files[f"{root}/main.tf"] = self.site.module(root, f"m{self.marks}", self.chance, **more)
        return files

    def some_roots(self) -> list[str]:
        """Return one root, or a few."""
        count = self.chance.choice((1, 1, 1, 2, 3))
        return self.chance.sample(self.roots, min(count, len(self.roots)))

    def roots_of(self, tier: str) -> list[str]:
        """Return the roots of a tier."""
        return [root for root in self.roots if tier_of(root) == tier]

    def is_crowded(self) -> bool:
        """Tell whether so many deployments are in progress that people would rather look at those first."""
        shown = {run["head_sha"] for run in self.board.values()}
        unshown = sum(push.after not in shown for push in self.clone.pushes[-_CHECKED:])
        return unshown + sum(not has_ended(run) for run in self.board.values()) > _CROWD * len(self.roots)

    def look(self, shas: list[str] | None = None) -> None:
        """Bring the board up to date, for these commits or for the newest."""
        newest = [push.after for push in self.clone.pushes[-_CHECKED:]] + self.clone.branches[-_PULLS_LOOKED_AT:]
        for sha in shas if shas is not None else dict.fromkeys(newest):
            for run in self._checks(sha):
                name = str(run["name"])
                if name.startswith(CHECK):
                    self.board[run["id"]] = {**run, "buttons": self._buttons(run)}
                    self._note_gate(run)
                elif name.startswith(_OF_PULLS):
                    verdict = Verdict(sha, name, str(run["conclusion"] or run["status"]))
                    self.verdicts[verdict] = str(run["output"]["title"])
                elif name.startswith(_OF_DRIFT):
                    self.drift[run["id"]] = run

    def _note_gate(self, run: CheckRun) -> None:
        """Keep what a check run says that waits for others: titles tell when that changes."""
        title, output = str(run["output"]["title"]), run["output"]
        if not _WAITS.match(title) or title == _LOCKED:
            return
        said = set(_WORD.findall(f"{title} {output['summary']} {output.get('text') or ''}"))
        named = tuple(name for name in (*TIERS, *self.roots) if name in said and name != root_of(run))
        self.gates[run["id"], title] = Gated(run["id"], run["head_sha"], root_of(run), title, named)

    def _checks(self, sha: str) -> list[CheckRun]:
        """Return all check runs on a commit, the oldest first."""
        path = f"/repos/{self.repository}/commits/{sha}/check-runs?filter=all&per_page=100"
        return sorted(self.maintainer.call("GET", path)["check_runs"], key=lambda run: int(run["id"]))

    def _buttons(self, run: CheckRun) -> list[str]:
        """Return the buttons on the page of a check run that asks for something."""
        asks = run["conclusion"] == "action_required" or "nlock" in str(run["output"]["summary"])
        return self.maintainer.buttons(self.repository, run["id"]) if asks else []

    def with_button(self, button: str) -> list[CheckRun]:
        """Return the check runs on the board that had this button when they were looked at."""
        return [run for run in self.board.values() if button in run["buttons"]]

    def note(self, by: str, what: str, roots: Iterable[str], deployment: str = "") -> None:
        """Remember what somebody does in a moment."""
        self.acts.extend(Act(time.time(), by, what, root, deployment, by in WRITERS) for root in roots)

    def click(self, run: CheckRun, button: str, by: str) -> bool:
        """Click a button of a check run; tell whether it still had it."""
        self.note(by, button, [root_of(run)], str(run["external_id"]))
        try:
            self.person(by).click(self.repository, run["id"], button)
        except ForgeAnswered as refused:
            self.acts.pop()
            if refused.status != 422:  # noqa: PLR2004 - the button is gone meanwhile.
                raise
            return False
        return True

    def runners(self) -> list[float]:
        """Return when the runners that work now began, on Fargate and on Lambda."""
        tasks = [task["createdAt"] for task in self.cloud.read("tasks") if task["lastStatus"] != "STOPPED"]
        return tasks + [call["began"] for call in self.cloud.read("tenants") if call["ended"] is None]

    def free_state(self, root: str) -> bool:
        """Free a root's Terraform state as people do after a runner died: only while nobody can hold it who runs."""
        s3 = self.cloud.client("s3")
        place = {"Bucket": self.site.bucket, "Key": f"{self.site.prefix}/{root}.tfstate.tflock"}
        try:
            locked = json.loads(s3.get_object(**place)["Body"].read())
        except ClientError:
            return False
        since = datetime.fromisoformat(locked["Created"]).timestamp()
        if any(began <= since for began in self.runners()):
            return False
        s3.delete_object(**place)
        return True


def root_of(run: CheckRun) -> str:
    """Return the root that a check run belongs to."""
    return str(run["name"]).removeprefix(CHECK)


def has_ended(run: CheckRun) -> bool:
    """Tell whether nothing is awaited of a check run any more."""
    return bool(run["status"] == "completed" and run["conclusion"] != "action_required")

"""A repository at the forge with roots that Tidegate deploys, as the people who work on it see it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e import modules
from tests.e2e.deadlines import eventually
from tests.e2e.installation import Installation
from tests.e2e.pages import post
from tidegate.roots.rules.root import queue_id
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.git import ENVIRONMENT

#: The states of a deployment that is planned, approved and applied.
ALL_THE_WAY = [
    "Begin the deployment",
    "What comes first?",
    "Begin the plan",
    "Start a runner for the plan",
    "Plan",
    "Record the plan",
    "What does the plan need?",
    "Wait for the plan review",
    "Was the plan approved?",
    "Begin the apply",
    "What applies it?",
    "Start a runner for the apply",
    "Apply",
    "Record that it was applied",
    "Applied",
]
CheckRun = Mapping[str, Any]


def title(run: CheckRun) -> str:
    return str(run["output"]["title"])


def words(run: CheckRun) -> str:
    """Return everything that a check run says."""
    return "\n".join(str(run["output"][part] or "") for part in ("title", "summary", "text"))


def cancel(project: Project, deployment: str, **wish: Any) -> Any:
    """Cancel a deployment by the API as the reviewer; return status and answer."""
    return post(project.tidegate.cloud, f"/api/v1/deployments/{deployment}/cancel", wish)


def has_ended(run: CheckRun) -> bool:
    return run["status"] == "completed" and run["conclusion"] != "action_required"


@dataclass(frozen=True)
class Project:
    """One repository. Its name is its own among all tests, and so are the names of its roots' states."""

    tidegate: Installation
    name: str

    def push(self, roots: Mapping[str, str], message: str = "Change roots", **files: str) -> str:
        """Push root modules (directory → content without backend) to ``main``; return the commit's SHA."""
        every = {f"{root}/main.tf": self.backed(root, content) for root, content in roots.items()}
        return self.tidegate.maintainer.push(self.name, {**every, **files}, message)

    def push_files(self, files: Mapping[str, str | None], message: str = "Change files", **where: str) -> str:
        """Push files as they are; ``branch`` and ``base`` may be given. Return the commit's SHA."""
        return self.tidegate.maintainer.push(self.name, files, message, **where)

    def git(self, *arguments: str) -> str:
        """Run a git command in a repository that has all refs of the forge as ``forge/*``; return what it prints.

        ``{url}`` is the forge's address of it.
        """
        url = self.tidegate.maintainer.clone_url(self.name)
        with tempfile.TemporaryDirectory() as empty:
            subprocess.run(["git", "init", "--quiet"], cwd=empty, check=True, env=_environment())
            for command in (("fetch", "--quiet", url, "+refs/*:refs/forge/*"), arguments):
                argv = ["git", *(argument.replace("{url}", url) for argument in command)]
                done = subprocess.run(argv, cwd=empty, check=True, env=_environment(), capture_output=True, text=True)
        return done.stdout

    def force(self, sha: str) -> None:
        """Force ``main`` to another commit."""
        self.git("push", "--quiet", "--force", "{url}", f"{sha}:refs/heads/main")

    def backed(self, root: str, content: str) -> str:
        """Return a root module that keeps its state where ``state`` looks for it."""
        return modules.backend(self.tidegate.cloud.info["state_bucket"], self.state_key(root)) + content

    def state_key(self, root: str) -> str:
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in root)
        return f"{self.name}/{plain}.tfstate"

    def state(self, root: str) -> dict[str, Any] | None:
        """Return a root's Terraform state, None before there is one."""
        content = self.tidegate.object("state_bucket", self.state_key(root))
        return None if content is None else json.loads(content)

    def value(self, root: str) -> str | None:
        """Return what the resource ``thing`` of a root has as its input, None while there is no such resource."""
        for resource in (self.state(root) or {"resources": []})["resources"]:
            if resource["name"] == "thing":
                return str(resource["instances"][0]["attributes"]["input"]["value"])
        return None

    def check_runs(self, sha: str, name: str) -> list[CheckRun]:
        """Return all check runs of a name on a commit, the newest first."""
        path = f"/repos/{self.name}/commits/{sha}/check-runs?filter=all&per_page=100"
        runs = self.tidegate.maintainer.call("GET", path)["check_runs"]
        return sorted((run for run in runs if run["name"] == name), key=lambda run: -int(run["id"]))

    def names(self, sha: str) -> set[str]:
        """Return the names of all check runs on a commit."""
        return {str(run["name"]) for run in self.tidegate.maintainer.check_runs(self.name, sha)}

    def newest(self, sha: str, root: str) -> CheckRun | None:
        found = self.check_runs(sha, f"tidegate/deploy: {root}")
        return found[0] if found else None

    def wait(self, sha: str, root: str, until: Callable[[CheckRun], bool] | str) -> CheckRun:
        """Return the root's newest check run once it is so, or once its title begins so."""

        def look() -> CheckRun | None:
            run = self.newest(sha, root)
            if run is None:
                return None
            reached = title(run).startswith(until) if isinstance(until, str) else until(run)
            return run if reached else None

        try:
            return eventually(look, what=f"{root}: {until}")
        except AssertionError as late:
            run = self.newest(sha, root)
            late.add_note(f"{root} is: {words(run) if run else 'not there'}"[:3000])
            late.add_note(self.tidegate.story())
            raise

    def wait_for(self, sha: str, number: int, until: Callable[[CheckRun], bool]) -> CheckRun:
        """Return one check run, by its number, once it is so."""
        path = f"/repos/{self.name}/check-runs/{number}"

        def look() -> CheckRun | None:
            run: CheckRun = self.tidegate.maintainer.call("GET", path)
            return run if until(run) else None

        return eventually(look, what=f"check run {number} of {sha}")

    def ended(self, sha: str, root: str) -> CheckRun:
        """Return the root's check run once the deployment has ended."""
        return self.wait(sha, root, has_ended)

    def reviewed(self, sha: str, root: str) -> CheckRun:
        """Return the root's check run once it asks for a review."""
        return self.wait(sha, root, "Review the plan")

    def click(self, run: CheckRun, button: str, by: str = "reviewer") -> None:
        """Click a button on a check run's page."""
        self.person(by).click(self.name, run["id"], button)

    def person(self, name: str) -> ForgeClient:
        return self.tidegate.person(name)

    def approved(self, sha: str, root: str) -> CheckRun:
        """Approve the root's plan as soon as it asks for that; return the check run that asked."""
        run = self.reviewed(sha, root)
        self.click(run, "Approve")
        return run

    def deployed(self, sha: str, *roots: str) -> None:
        """Approve the plans of these roots and wait until they are applied."""
        for root in roots:
            self.approved(sha, root)
        for root in roots:
            assert title(self.ended(sha, root)).startswith("Applied"), words(self.ended(sha, root))


def _environment() -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT}


def gate_of(directory: Path) -> Path:
    """Return the file that opens the gate of a gated module; it does not exist yet."""
    return directory / "gate"


def rests(tidegate, repository, root):
    """Wait until nothing of a root is under way: what is, is not looked at. Its check run says sooner that it ended."""

    def is_quiet():
        head = tidegate.queues.read(queue_id(repository, root))[0]
        return head.in_flight is None and not head.length

    eventually(is_quiet, what=f"the queue of {root} of {repository} at rest")


def at_the_gate(project, job):
    """Return the task of a job whose engine waits at the gate."""
    said = "waiting at the gate"
    eventually(lambda: any(said in line for line in project.tidegate.log_lines(job)), what=f"{job} at the gate")
    (task,) = project.tidegate.runners(job)
    return task

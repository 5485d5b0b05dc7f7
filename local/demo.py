"""``make demo``: a merge that changes two roots, followed on screen until both are applied.

The demo looks at Tidegate from outside only: it pushes with git, reads check runs through the forge's API,
presses the check run's own button, and reads the Terraform states and the audit messages afterwards.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markdown import Markdown
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from local.cloud import LocalCloud
from local.forge.client import ForgeClient

SAMPLE = Path(__file__).parents[1] / "examples" / "sample"
REPOSITORY = "demo/sample"
ROOTS = ("network", "orders")
#: A whole demo takes well under a minute; a download of the engine and its providers may take minutes.
PATIENCE = 600.0
POLL = 0.15


class DemoFailed(Exception):
    """The demo did not reach its end; the message says where to look."""


@dataclass
class Followed:
    """What is known of one root's deploy: its newest check run and when each state was first seen."""

    root: str
    check_run: Mapping[str, Any] = field(default_factory=dict)
    seen: list[tuple[str, float]] = field(default_factory=list)
    confirmed: bool = False

    @property
    def title(self) -> str:
        return (self.check_run.get("output") or {}).get("title") or "not seen yet"

    @property
    def waits_for_review(self) -> bool:
        return self.check_run.get("conclusion") == "action_required"

    @property
    def done(self) -> bool:
        return self.check_run.get("status") == "completed" and not self.waits_for_review


def run(cloud: LocalCloud, console: Console) -> None:
    """Play the demo on a running local cloud. Raise DemoFailed when anything is not as it should be."""
    forge = ForgeClient(cloud.info["forge_url"], user="maintainer")
    console.rule("[bold]A pull request changes two roots")
    sha = merge_the_sample(forge)
    console.print(f"Merged into [bold]main[/] of {REPOSITORY} as [bold]{sha[:7]}[/]: {forge.url}/{REPOSITORY}/commit/{sha}")
    console.rule("[bold]Tidegate plans, asks, applies")
    followed = [Followed(root) for root in ROOTS]
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        for _ in _polls(PATIENCE):
            look(forge, sha, followed)
            live.update(progress(followed))
            for one in followed:
                if one.waits_for_review and not one.confirmed:
                    live.console.print(plan_panel(one))
                    forge.press(REPOSITORY, one.check_run["id"], "Confirm", user="reviewer")
                    one.confirmed = True
                    live.console.print(f"[bold green]✓[/] reviewer pressed [bold]Confirm[/] on {one.check_run['name']}")
            if all(one.done for one in followed):
                break
    console.rule("[bold]What is left to look at")
    check(cloud, followed)
    console.print(where_to_look(cloud, forge, sha, followed))


def merge_the_sample(forge: ForgeClient) -> str:
    """Push an empty project, open a pull request with the sample's roots, merge it; return the merge's SHA."""
    forge.create_repository(REPOSITORY)
    forge.push_files(REPOSITORY, "main", {"README.md": "# Sample\n"}, message="Begin")
    files = {str(path.relative_to(SAMPLE)): path.read_text() for path in sorted(SAMPLE.rglob("*")) if path.is_file()}
    forge.push_files(REPOSITORY, "add-roots", files, message="Add the network and the orders roots", base="main")
    pull = forge.open_pull_request(REPOSITORY, head="add-roots", base="main", title="Add the network and the orders roots")
    return forge.merge_pull_request(REPOSITORY, pull)


def look(forge: ForgeClient, sha: str, followed: Sequence[Followed]) -> None:
    """Bring what is known up to date with the check runs on the commit."""
    runs = forge.check_runs(REPOSITORY, sha)
    for one in followed:
        mine = [run for run in runs if run["name"] == f"tidegate/deploy: {one.root}"]
        if not mine:
            continue
        one.check_run = max(mine, key=lambda run: int(run["id"]))
        if not one.seen or one.seen[-1][0] != one.title:
            one.seen.append((one.title, time.monotonic()))


def progress(followed: Sequence[Followed]) -> Group:
    """Draw one line per root with all states that it went through."""
    table = Table.grid(padding=(0, 2))
    for one in followed:
        way = Text(" → ").join(Text(title, style="dim") for title, _ in one.seen[:-1])
        now = Text(one.title, style="bold green" if one.done else "bold yellow")
        mark: Text | Spinner = Text("✓", style="green") if one.done else Spinner("dots")
        table.add_row(mark, Text(one.root, style="bold"), Text.assemble(way, " → " if one.seen[:-1] else "", now))
    return Group(table)


def plan_panel(one: Followed) -> Panel:
    """Show the check run that waits for review, as the forge shows it."""
    return Panel(Markdown(one.check_run["output"]["summary"]), title=one.check_run["name"], subtitle=one.title)


def check(cloud: LocalCloud, followed: Sequence[Followed]) -> None:
    """Raise DemoFailed unless both check runs succeeded and both states hold their resources."""
    for one in followed:
        if one.check_run.get("conclusion") != "success":
            raise DemoFailed(
                f"{one.root} ended as {one.check_run.get('conclusion') or one.title!r}: "
                f"{(one.check_run.get('output') or {}).get('summary', '')}"
            )
        state = terraform_state(cloud, one.root)
        if not any(resource["mode"] == "managed" for resource in state["resources"]):
            raise DemoFailed(f"The Terraform state of {one.root} holds no resources.")


def terraform_state(cloud: LocalCloud, root: str) -> dict[str, Any]:
    """Return the Terraform state of one of the sample's roots."""
    body = cloud.client("s3").get_object(Bucket=cloud.info["state_bucket"], Key=f"sample/{root}.tfstate")["Body"]
    state: dict[str, Any] = json.loads(body.read())
    return state


def where_to_look(cloud: LocalCloud, forge: ForgeClient, sha: str, followed: Sequence[Followed]) -> Table:
    """List where the log, the plan, the execution history and the audit messages are."""
    table = Table.grid(padding=(0, 2))
    bucket = cloud.info["artifact_bucket"]
    executions = {
        execution["name"]: execution["executionArn"]
        for execution in cloud.client("stepfunctions").list_executions(
            stateMachineArn=cloud.info["state_machines"]["terraform"]
        )["executions"]
    }
    audits = [json.loads(message) for message in cloud.audit_messages()]
    for one in followed:
        deployment = one.check_run["external_id"]
        state = terraform_state(cloud, one.root)
        resources = [f"{item['type']}.{item['name']}" for item in state["resources"] if item["mode"] == "managed"]
        states = ", ".join(audit["state"] for audit in audits if audit["deployment"] == deployment)
        table.add_row(Text(one.root, style="bold"), "check run", f"{forge.url}/{REPOSITORY}/runs/{one.check_run['id']}")
        table.add_row("", "log", f"s3://{bucket}/logs/{deployment}-apply-1.txt")
        table.add_row("", "plan", f"s3://{bucket}/plans/{deployment}-plan-1/plan.txt")
        table.add_row("", "execution", executions.get(deployment, "not found"))
        table.add_row("", "audit", f"{cloud.info['audit_topic']}: {states}")
        table.add_row("", "in state", ", ".join(resources))
        took = one.seen[-1][1] - one.seen[0][1]
        table.add_row("", "took", f"{took:.1f} s from the first sign to the end")
    return table


def _polls(patience: float) -> Iterator[None]:
    """Yield every ``POLL`` seconds; raise DemoFailed after ``patience`` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        yield
        time.sleep(POLL)
    raise DemoFailed(f"The deploys did not end within {patience:.0f} s. `make up` keeps the cloud running to look closer.")

"""``make demo``: a merge that changes two roots, followed on screen until both are applied.

The demo looks at Tidegate from outside only: it pushes with git, reads check runs through the forge's API,
presses the check run's own button, and reads the Terraform states and the audit messages afterwards.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from local.client import LocalCloud, LocalCloudFailed
from local.forge.client import ForgeClient

SAMPLE = Path(__file__).parents[1] / "examples" / "sample"
REPOSITORY = "demo/sample"
#: What the local cloud itself says goes here, so that the screen shows the deploys only.
LOG = SAMPLE.parents[1] / "build" / "demo.log"
ROOTS = ("network", "orders")
CHANGE = "Add the network and the orders roots"
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
    def step(self) -> str:
        """The title without the plan's counts."""
        return self.title.partition(":")[0]

    @property
    def waits_for_review(self) -> bool:
        return self.check_run.get("conclusion") == "action_required"

    @property
    def done(self) -> bool:
        return self.check_run.get("status") == "completed" and not self.waits_for_review


def run(cloud: LocalCloud, console: Console) -> None:
    """Play the demo on a running local cloud. Raise DemoFailed when anything is not as it should be."""
    forge = ForgeClient(cloud.info["forge_url"], "maintainer")
    console.rule("[bold]A pull request changes two roots")
    sha = merge_the_sample(forge)
    console.print(
        f"Merged into [bold]main[/] of {REPOSITORY} as [bold]{sha[:7]}[/]: {forge.url}/{REPOSITORY}/commit/{sha}"
    )
    console.rule("[bold]Tidegate plans, asks, applies")
    followed = [Followed(root) for root in ROOTS]
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        for _ in _polls(PATIENCE):
            look(forge, sha, followed)
            live.update(progress(followed))
            for one in followed:
                if one.waits_for_review and not one.confirmed:
                    live.console.print(plan_panel(one))
                    ForgeClient(forge.url, "reviewer").press(REPOSITORY, one.check_run["id"], "Confirm")
                    one.confirmed = True
                    live.console.print(f"[bold green]✓[/] reviewer pressed [bold]Confirm[/] on {one.check_run['name']}")
            if all(one.done for one in followed):
                break
    console.print()
    console.rule("[bold]What it left, until now: this cloud ends with the demo")
    check(cloud, followed)
    for line in where_to_look(cloud, forge, followed):
        console.print(line, soft_wrap=True)


def merge_the_sample(forge: ForgeClient) -> str:
    """Push an empty project, open a pull request with the sample's roots, merge it; return the merge's SHA."""
    forge.push(REPOSITORY, {"README.md": "# Sample\n"}, "Begin")
    files = {str(path.relative_to(SAMPLE)): path.read_text() for path in sorted(SAMPLE.rglob("*")) if path.is_file()}
    forge.push(REPOSITORY, files, CHANGE, branch="add-roots", base="main")
    return forge.merge_pull_request(REPOSITORY, forge.open_pull_request(REPOSITORY, "add-roots", title=CHANGE))


def look(forge: ForgeClient, sha: str, followed: Sequence[Followed]) -> None:
    """Bring what is known up to date with the check runs on the commit."""
    runs = forge.check_runs(REPOSITORY, sha)
    for one in followed:
        mine = [run for run in runs if run["name"] == f"tidegate/deploy: {one.root}"]
        if not mine:
            continue
        one.check_run = max(mine, key=lambda run: int(run["id"]))
        if not one.seen or one.seen[-1][0] != one.step:
            one.seen.append((one.step, time.monotonic()))


def progress(followed: Sequence[Followed]) -> Group:
    """Draw one line per root with all states that it went through."""
    table = Table.grid(padding=(0, 2))
    for one in followed:
        way = Text(" → ").join(Text(title, style="dim") for title, _ in one.seen[:-1])
        now = Text(one.step, style="bold green" if one.done else "bold yellow")
        mark: Text | Spinner = Text("✓", style="green") if one.done else Spinner("dots")
        table.add_row(mark, Text(one.root, style="bold"), Text.assemble(way, " → " if one.seen[:-1] else "", now))
    return Group(table)


def plan_panel(one: Followed) -> Panel:
    """Show the plan that waits for review, as the check run has it."""
    fence = re.search(r"^(`{3,})diff\n(.*?)^\1", one.check_run["output"]["text"] or "", re.MULTILINE | re.DOTALL)
    plan = fence.group(2).strip() if fence else "The check run shows no plan."
    return Panel(Syntax(plan, "diff", background_color="default"), title=one.check_run["name"], subtitle=one.title)


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


def where_to_look(cloud: LocalCloud, forge: ForgeClient, followed: Sequence[Followed]) -> Iterator[Text]:
    """Yield where the log, the plan, the execution history and the audit messages of each root are."""
    bucket, topic = cloud.info["artifact_bucket"], cloud.info["audit_topic"]
    executions = cloud.client("stepfunctions").list_executions(
        stateMachineArn=cloud.info["state_machines"]["terraform"]
    )
    history = {execution["name"]: execution["executionArn"] for execution in executions["executions"]}
    audits = cloud.audit()
    for one in followed:
        deployment = one.check_run["external_id"]
        managed = [item for item in terraform_state(cloud, one.root)["resources"] if item["mode"] == "managed"]
        states = ", then ".join(audit["state"] for audit in audits if audit["deployment"] == deployment)
        yield Text(f"{one.root}, {one.seen[-1][1] - one.seen[0][1]:.1f} s from the first sign to the end", style="bold")
        for label, value in (
            ("in the state", ", ".join(f"{item['type']}.{item['name']}" for item in managed)),
            ("check run", f"{forge.url}/{REPOSITORY}/runs/{one.check_run['id']}"),
            ("log", f"s3://{bucket}/logs/{deployment}-apply-1.txt"),
            ("plan", f"s3://{bucket}/plans/{deployment}-plan-1/plan.txt"),
            ("execution", history.get(deployment, "not found")),
            ("audit", f"{states}, on {topic}"),
        ):
            yield Text.assemble((f"  {label:<13}", "dim"), value)


def _polls(patience: float) -> Iterator[None]:
    """Yield every ``POLL`` seconds; raise DemoFailed after ``patience`` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        yield
        time.sleep(POLL)
    raise DemoFailed(
        f"The deploys did not end within {patience:.0f} s. `make up` keeps the cloud running to look closer."
    )


def main() -> int:
    """Start a local cloud, play the demo, end the cloud. Return the exit code."""
    console = Console()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    cloud = LocalCloud(log=LOG)
    began = time.monotonic()
    try:
        with console.status("Starting the local cloud: synthesizing and deploying the CDK app …"):
            cloud.start()
        console.print(f"The local cloud runs: {cloud.info['forge_url']} ({time.monotonic() - began:.0f} s)")
        run(cloud, console)
    except (DemoFailed, LocalCloudFailed) as failure:
        said = f"The demo failed: {failure}\nThe local cloud's own log: {LOG}"
        Console(stderr=True).print(said, style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        cloud.stop()
    console.print(f"[bold green]Both roots are applied.[/] It took {time.monotonic() - began:.0f} s in all.")
    console.print(
        "`make up` keeps a local cloud running: there you can push, look at plans and press buttons yourself."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

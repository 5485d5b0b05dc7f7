"""The first scenario: a merge changes two roots. The demo follows, reviews and checks their deploys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax

from tidegate_local.demo.followed import Followed, follow
from tidegate_local.demo.stage import REPOSITORY, SAMPLE, DemoFailed, Stage
from tidegate_local.forge.client import ForgeClient

ROOTS = ("network", "orders")
CHANGE = "Add the network and the orders roots"


def play(stage: Stage) -> Sequence[Followed]:
    """Run the scenario; return the check runs of its deploys. Raise DemoFailed on an unexpected result."""
    stage.console.rule("[bold]Part 1: a merge changes two roots")
    sha = merge_the_sample(stage.forge)
    stage.say(f"maintainer merged them into [bold]main[/] as [bold]{sha[:7]}[/]: {commit_url(stage, sha)}")
    return deployed(stage, sha, ROOTS)


def merge_the_sample(forge: ForgeClient) -> str:
    """Push an empty project, open a pull request with the sample's roots, merge it; return the merge's SHA."""
    forge.push(REPOSITORY, {"README.md": "# Sample\n"}, "Begin")
    files = {str(path.relative_to(SAMPLE)): path.read_text() for path in sorted(SAMPLE.rglob("*")) if path.is_file()}
    forge.push(REPOSITORY, files, CHANGE, branch="add-roots", base="main")
    return forge.merge_pull_request(REPOSITORY, forge.open_pull_request(REPOSITORY, "add-roots", title=CHANGE))


def commit_url(stage: Stage, sha: str) -> str:
    """Return the forge's page of a commit."""
    return f"{stage.forge.url}/{REPOSITORY}/commit/{sha}"


def deployed(stage: Stage, sha: str, roots: Iterable[str]) -> Sequence[Followed]:
    """Follow the deploys of a commit's roots, approve each plan, and check that they are applied. Raise DemoFailed."""
    followed = [Followed(f"tidegate/deploy: {root}", root) for root in roots]
    reviewer, approved = stage.person("reviewer"), set[str]()

    def review(console: Console) -> None:
        for one in followed:
            if one.waits_for_review and one.name not in approved:
                console.print(plan_panel(one))
                reviewer.click(REPOSITORY, one.check_run["id"], "Approve")
                approved.add(one.name)
                console.print(f"[bold green]✓[/] reviewer clicked [bold]Approve[/] on {one.name}", highlight=False)

    follow(stage, sha, followed, review)
    check(stage, followed)
    return followed


def plan_panel(one: Followed) -> Panel:
    """Show the plan that waits for review, as the check run has it."""
    fence = re.search(r"^(`{3,})diff\n(.*?)^\1", one.check_run["output"]["text"] or "", re.MULTILINE | re.DOTALL)
    plan = fence.group(2).strip() if fence else "The check run shows no plan."
    return Panel(Syntax(plan, "diff", background_color="default"), title=one.name, subtitle=one.title)


def check(stage: Stage, followed: Iterable[Followed]) -> None:
    """Raise DemoFailed unless all check runs succeeded and all states hold resources."""
    for one in followed:
        if one.conclusion != "success":
            raise DemoFailed(
                f"{one.label} ended as {one.conclusion or one.title!r}: "
                f"{(one.check_run.get('output') or {}).get('summary', '')}"
            )
        if not managed(stage, one.label):
            raise DemoFailed(f"The Terraform state of {one.label} has no resources.")


def managed(stage: Stage, root: str) -> Sequence[str]:
    """Return the addresses of the resources in the Terraform state of one of the sample's roots."""
    bucket, key = stage.cloud.info["state_bucket"], f"sample/{root}.tfstate"
    body = stage.cloud.client("s3").get_object(Bucket=bucket, Key=key)["Body"]
    state: dict[str, Any] = json.loads(body.read())
    return [f"{item['type']}.{item['name']}" for item in state["resources"] if item["mode"] == "managed"]


def results(stage: Stage, followed: Iterable[Followed], what: str = "") -> Iterator[str]:
    """Yield what each deploy applied, with its audit messages. ``what`` tells deploys of the same root apart."""
    audits = stage.cloud.audit()
    for one in followed:
        states = ", then ".join(each["state"] for each in audits if each["deployment"] == one.check_run["external_id"])
        took = one.seen[-1][1] - one.seen[0][1]
        yield f"[bold]{one.label}{what}[/] in {took:.1f} s, audited as {states}"
        yield f"  in the state: {', '.join(managed(stage, one.label))}"

"""The second scenario: a pull request opens a port to everybody, a policy blocks it, and the fix is deployed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate_local.demo.comment import comment_panel
from tidegate_local.demo.deploys import commit_url, deployed
from tidegate_local.demo.followed import Followed, follow
from tidegate_local.demo.stage import REPOSITORY, DemoFailed, Stage, awaited
from tidegate_local.forge.client import ForgeAnswered

TITLE = "Allow SSH"
BRANCH = "ssh"
ROOT = "network"
FILE = f"{ROOT}/ssh.tf"
RULE = """\
resource "aws_vpc_security_group_ingress_rule" "ssh" {{
  security_group_id = aws_security_group.web.id
  description       = "SSH, to look after the machines"
  cidr_ipv4         = "{network}"
  from_port         = 22
  to_port           = 22
  ip_protocol       = "tcp"
}}
"""
EVERYBODY, INSIDE = "0.0.0.0/0", "10.20.0.0/16"
#: What GitHub answers where a merge is not allowed.
_NOT_ALLOWED = 405
WHOLE, POLICY = "tidegate/plan", f"tidegate/policy: {ROOT}"


def play(stage: Stage) -> Sequence[Followed]:
    """Run the scenario; return the check runs of the deploys of its merge. Raise DemoFailed on an unexpected result."""
    stage.console.rule("[bold]Part 2: a pull request that a policy blocks")
    developer = stage.person("developer")
    forge_page = f"{stage.forge.url}/{REPOSITORY}/pull"
    stage.forge.protect(REPOSITORY, checks=[WHOLE])
    head = _pushed(stage, EVERYBODY, TITLE)
    number = developer.open_pull_request(REPOSITORY, BRANCH, title=TITLE)
    stage.say(f"developer opened [bold]#{number} {TITLE}[/]: {forge_page}/{number}")
    _planned(stage, head, "failure")
    comment = _comment(stage, number, head)
    stage.console.print(comment_panel(comment))
    _refused(stage, number)
    fixed = _pushed(stage, INSIDE, "Allow SSH only from the internal network")
    stage.say(f"developer pushed the correction as [bold]{fixed[:7]}[/]: {commit_url(stage, fixed)}")
    _planned(stage, fixed, "success")
    updated = _comment(stage, number, fixed)
    if updated["id"] != comment["id"]:
        raise DemoFailed("The correction created a new comment instead of updating the existing one.")
    stage.console.print(comment_panel(updated, edited=True))
    sha = stage.forge.merge_pull_request(REPOSITORY, number)
    stage.say(f"maintainer merged it into [bold]main[/] as [bold]{sha[:7]}[/]: {commit_url(stage, sha)}")
    return deployed(stage, sha, [ROOT])


def _pushed(stage: Stage, network: str, message: str) -> str:
    """Push the rule for a network to the branch; return the commit's SHA."""
    files = {FILE: RULE.format(network=network)}
    return stage.person("developer").push(REPOSITORY, files, message, branch=BRANCH, base="main")


def _planned(stage: Stage, head: str, expected: str) -> None:
    """Follow the checks of a head. Raise DemoFailed unless both end as expected."""
    followed = [Followed(WHOLE, WHOLE, whole=True), Followed(POLICY, POLICY, whole=True)]
    follow(stage, head, followed)
    for one in followed:
        if one.conclusion != expected:
            raise DemoFailed(f"{one.name} ended as {one.conclusion}, not {expected}: {one.title}")


def _comment(stage: Stage, number: int, head: str) -> Mapping[str, Any]:
    """Return Tidegate's comment once it is about a head."""

    def look() -> Mapping[str, Any] | None:
        found = [one for one in stage.forge.comments(REPOSITORY, number) if one["user"]["type"] == "Bot"]
        return next((one for one in found if f"`{head[:7]}`" in one["body"]), None)

    return awaited(look, f"A comment about {head[:7]}")


def _refused(stage: Stage, number: int) -> None:
    """Try to merge all the same. Raise DemoFailed if the merge succeeds."""
    try:
        stage.forge.merge_pull_request(REPOSITORY, number)
    except ForgeAnswered as answer:
        stage.say(f"[bold red]✗[/] maintainer cannot merge it: the branch is protected by [bold]{WHOLE}[/]")
        if answer.status == _NOT_ALLOWED:
            return
        raise DemoFailed(f"The forge returned {answer}") from answer
    raise DemoFailed("The forge merged a change that the policy blocks.")

"""Reads from outside what happened: check runs, audit messages, Terraform states, the journal, git history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from soak.harness import WRITERS, Harness, root_of
from soak.history import Audit, Check, Commit, Effect, History, Planned, Pull, Runner, StateVersion
from soak.lambda_plans import calls, job_of
from soak.leaks import leaks
from soak.plan_rules import FARGATE, LAMBDA

#: Characters of a complaint that are kept.
_LONGEST = 300
#: Characters of a commit in the id of a job.
_SHORT = 7


def observe(harness: Harness) -> History:
    """Return the history of a repository in a soak that is over."""
    harness.look([push.after for push in harness.clone.pushes] + harness.clone.branches)
    found, searched = leaks(harness)
    return replace(recorded(harness), leaks=found, searched=searched, struck=dict(harness.struck))


def recorded(harness: Harness) -> History:
    """Return what can be read of a repository at any time, with check runs as they were when last looked at."""
    return History(
        repository=harness.repository,
        writers=WRITERS,
        commits=commits_of(harness),
        pushes=tuple(harness.clone.pushes),
        checks=checks_of(harness),
        acts=tuple(harness.acts),
        audits=tuple(_audit(each) for each in harness.cloud.audit() if each["repository"] == harness.repository),
        states=tuple(version for root in harness.roots for version in _states(harness, root)),
        effects=_effects(harness),
        plans=_plans(harness),
        runners=_runners(harness),
        gates=tuple(harness.gates.values()),
        pulls=tuple(
            Pull(number, sha, tuple(roots), (number, sha) in harness.pulls) for number, sha, roots in harness.every_pull
        ),
        verdicts=tuple(harness.verdicts),
        looks=tuple(harness.looks),
    )


def commits_of(harness: Harness) -> dict[str, Commit]:
    """Return all commits that were pushed."""
    return harness.clone.history(harness.roots)


def checks_of(harness: Harness) -> tuple[Check, ...]:
    """Return the check runs as the board has them."""
    return tuple(
        Check(
            id=run["id"],
            sha=run["head_sha"],
            root=root_of(run),
            deployment=str(run["external_id"]),
            status=run["status"],
            conclusion=run["conclusion"],
            title=str(run["output"]["title"]),
            url=str(run["html_url"]),
            summary=str(run["output"]["summary"]),
            begun=_seconds(run.get("started_at")),
            ended=_seconds(run.get("completed_at")),
        )
        for _, run in sorted(harness.board.items())
    )


def _audit(message: Mapping[str, Any]) -> Audit:
    return Audit(
        state=str(message["state"]),
        event=str(message["event_id"]),
        deployment=str(message.get("deployment") or ""),
        root=str(message.get("root") or ""),
        revision=str(message.get("revision") or ""),
        trigger=str(message.get("trigger") or ""),
        plan=message.get("plan_sha256"),
        approved_by=message.get("approved_by"),
        approvals=tuple(str(each["by"]) for each in message.get("approvals") or ()),
        initiator=str(message.get("initiating_user") or ""),
        started=_seconds(message.get("started")),
        ended=_seconds(message.get("ended")),
    )


def _seconds(moment: str | None) -> float | None:
    return datetime.fromisoformat(moment).timestamp() if moment else None


def _states(harness: Harness, root: str) -> list[StateVersion]:
    """Return every version of a root's state; the bucket keeps them all. Older ones have lower serials."""
    s3, bucket, key = harness.cloud.client("s3"), harness.site.bucket, f"{harness.site.prefix}/{root}.tfstate"
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=key)
    listed = [item for page in pages for item in page.get("Versions", []) if item["Key"] == key]
    found = []
    for item in listed:
        body = s3.get_object(Bucket=bucket, Key=key, VersionId=item["VersionId"])["Body"].read()
        state = json.loads(body)
        found.append(
            StateVersion(root, item["LastModified"].timestamp(), state["lineage"], state["serial"], _mark(state))
        )
    return sorted(found, key=lambda version: (version.serial, version.at))


def _mark(state: Mapping[str, Any]) -> str | None:
    for resource in state["resources"]:
        for instance in resource["instances"]:
            value = (instance["attributes"].get("input") or {}).get("value")
            if resource["name"] == "record" and value is not None and not instance.get("deposed"):
                return str(value)
    return None


def _effects(harness: Harness) -> tuple[Effect, ...]:
    journal = harness.site.journal
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return tuple(Effect(root, mark, what, float(at)) for root, mark, what, at in (line.split() for line in lines))


def _plans(harness: Harness) -> tuple[Planned, ...]:
    journal = harness.site.plans
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return tuple(Planned(root, job, float(at)) for root, job, at in (line.split() for line in lines))


def _runners(harness: Harness) -> tuple[Runner, ...]:
    """Return the runners for jobs of this repository, oldest first: a job's id has its commit's first characters."""
    found = [Runner(str(job_of(task)), FARGATE, task["createdAt"]) for task in harness.cloud.read("tasks")]
    found += [Runner(call["event"]["job"], LAMBDA, call["began"], call["error"]) for call in calls(harness)]
    known = {sha[:_SHORT] for sha in harness.clone.history(harness.roots)}
    ours = [runner for runner in found if not known.isdisjoint(runner.job.split("-"))]
    return tuple(sorted(ours, key=lambda runner: runner.at))


def complaints(harness: Harness) -> Counter[str]:
    """Return what functions logged as errors, and how often."""
    found: Counter[str] = Counter()
    for name, group in harness.cloud.info["log_groups"].items():
        pages = harness.cloud.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in (event for page in pages for event in page["events"]):
            found.update(f"{name}: {complaint}" for complaint in _complaint(event["message"]))
    return found


def _complaint(message: str) -> list[str]:
    """Return an error's name and first words, nothing for all other lines."""
    if "ERROR" not in message:
        return []
    try:
        fields = json.loads(message)
    except ValueError:
        return [message.strip()[:_LONGEST]]
    words = (
        fields.get("exception_name"),
        fields.get("message"),
        (fields.get("exception") or "").strip().rpartition("\n")[2],
    )
    return [" ".join(str(word) for word in words if word)[:_LONGEST]]

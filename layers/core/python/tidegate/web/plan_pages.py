"""The page of a plan: its resources as rows, or its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.check_runs.get_deployment import PlanText, plan_text
from tidegate.deploys.read_log import Subject
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.plans.get_structured_plan import get_structured_plan
from tidegate.plans.rules.plan import Plan
from tidegate.plans.rules.structured import Kind
from tidegate.ports import Ports
from tidegate.web.plan_view import EVERYTHING, LONGEST_FILTER, PAGE_ROWS, Asked, PlanView, plan_view
from tidegate.web.refusals import Hidden, InvalidRequest
from tidegate.web.rendering import Rendering
from tidegate.web.shapes import Shapes

_NUMBER = re.compile(r"[0-9]{1,6}")
#: Characters of an address that is asked for.
_LONGEST_ADDRESS = 2000
#: Plans that a page of several shows at once: the others are read when somebody opens them.
MOST_INLINE, INLINE_ROWS = 3, 50
#: Plans, also of nothing to change, of a page that shows some at once: more have cost it enough reads.
MOST_PLANS = 100


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of a plan and what it does: ``add``, ``remove``, ``change`` or nothing."""

    text: str
    kind: str


class PlanPages:
    """Adds the route of plans to a resolver."""

    def __init__(self, ports: Ports, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._shapes, self._rendering = ports, shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the route."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/jobs/<id>/plan", **hidden)(lambda **path: self._page(app, path["id"]))

    def _page(self, app: APIGatewayHttpResolver, job: str) -> Response[str]:
        subject: Subject = app.context["access"].job_subject
        plan = _plan_of(subject, job)
        asked = _asked(app)
        view = None if app.context["fields"].get("text") else shown_plan(self._ports, plan, asked)
        text = plan_text(self._ports, plan) if view is None else None
        return self._rendering.show(
            app,
            "plan.html",
            one=subject,
            of_deployment=isinstance(subject, Deployment),
            sha=subject.revision.sha if isinstance(subject, Deployment) else subject.sha,
            job=self._shapes.job_link(job),
            plan=plan,
            view=view,
            has_rows=plan.structured is not None,
            text=text,
            lines=list(plan_lines(text)),
        )


def shown_plan(
    ports: Ports, plan: Plan, asked: Asked = EVERYTHING, most: int = PAGE_ROWS, prefix: str = ""
) -> PlanView | None:
    """Return what a page shows of a plan; None if its rows cannot be shown."""
    found = get_structured_plan(ports, plan)
    if found is not None:
        with suppress(ValueError):
            return plan_view(plan, found, asked, most, prefix)
    return None


def inline_plans(ports: Ports, plans: Sequence[Plan]) -> dict[str, PlanView]:
    """Return what a page shows at once of its plans, by their jobs: none if it has more than a few, or very many."""
    changed = [each for each in plans if each.changes.any]
    if len(changed) > MOST_INLINE or len(plans) > MOST_PLANS:
        return {}
    views = {each.job: shown_plan(ports, each, most=INLINE_ROWS, prefix=f"{each.job}:") for each in changed}
    return {job: view for job, view in views.items() if view is not None}


def plan_lines(text: PlanText | None) -> Iterator[PlanLine]:
    """Yield the lines of a plan's text with what they do."""
    kinds = {"+": "add", "-": "remove", "~": "change", "-/+": "remove", "+/-": "remove"}
    for line in text.text.split("\n") if text and text.text else ():
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        yield PlanLine(line, kinds.get(word, ""))


def _plan_of(subject: Subject, job: str) -> Plan:
    """Return the plan that a job made. Raise Hidden if it made none, or a later job made another."""
    plan = None
    if isinstance(subject, Deployment):
        plan = subject.planned.plan
    elif isinstance(subject, SpeculativePlan):
        plan = subject.plan
    if plan is None or plan.job != job:
        raise Hidden
    return plan


def _asked(app: APIGatewayHttpResolver) -> Asked:
    fields = app.context["fields"]
    kind, after = fields.get("show", ""), fields.get("after", "0")
    if kind and kind not in set(Kind):
        raise InvalidRequest(f"'show' must be one of {', '.join(Kind)}.")
    if not _NUMBER.fullmatch(after):
        raise InvalidRequest("'after' must be the number of a row, from 0.")
    return Asked(
        Kind(kind) if kind else None,
        fields.get("filter", "").strip()[:LONGEST_FILTER],
        fields.get("resource", "")[:_LONGEST_ADDRESS],
        fields.get("expand") == "yes",
        int(after),
    )

"""Read what the comments and check runs of a pull request show besides its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote, urlencode

from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.ports import Ports
from tidegate.pull_requests.rules.blocks import ROWS, LayerView
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.check_run import MAXIMUM_TEXT
from tidegate.vcs.rules.pull_request import PullRequestSpec

#: Bytes of a plan that are read: more than a comment or a check run shows, so that a short one is complete.
PLAN_START = MAXIMUM_TEXT + 4096


def pull_request_page(ports: Ports, spec: PullRequestSpec) -> str:
    """Return the pull request's full list: Tidegate's page, or else the VCS provider's list of checks."""
    if ports.web_url:
        return f"{ports.web_url}/pulls/{quote(spec.repository)}/{spec.number}"
    return ports.addresses.pull_request_checks_url(spec.repository, spec.number)


def queue_page(ports: Ports, spec: PullRequestSpec, root: str) -> str:
    """Return the URL of a root's queue on Tidegate's pages, an empty text without pages."""
    return f"{ports.web_url}/queue?{urlencode({'repository': spec.repository, 'root': root})}" if ports.web_url else ""


def deployment_page(ports: Ports, deployment: str) -> str:
    """Return the URL of a deployment on Tidegate's pages, an empty text without pages."""
    return f"{ports.web_url}/deployments/{quote(deployment, safe='')}" if ports.web_url else ""


def plan_row(ports: Ports, layer: SpeculativePlan) -> LayerView:
    """Return the view of a layer without its plan's text."""
    log = f"{ports.web_url}/jobs/{quote(layer.job, safe='')}" if ports.web_url and layer.job else None
    return LayerView(layer, log_url=log)


def whole_plan(ports: Ports, layers: Sequence[SpeculativePlan]) -> Sequence[LayerView]:
    """Return views with the plans' texts. If there are very many, none is shown, so none is read."""
    changed = [each for each in layers if each.state is not LayerState.NO_CHANGES]
    return [shown_plan(ports, each) if len(changed) <= ROWS else plan_row(ports, each) for each in layers]


def shown_plan(ports: Ports, layer: SpeculativePlan) -> LayerView:
    """Return the view of a layer with its plan's text, unless that has expired or was altered."""
    row = plan_row(ports, layer)
    if layer.plan is None or layer.state is not LayerState.PLANNED:
        return row
    try:
        start = ports.artifacts.get_start(layer.plan.text.key, PLAN_START)
    except NotFound:
        return row
    if start.sha256 and start.sha256 != layer.plan.text.sha256:
        return row
    return replace(row, plan_text=start.content.decode(errors="replace"), plan_size=start.size)

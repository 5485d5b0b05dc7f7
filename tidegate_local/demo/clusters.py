"""The act ``clusters``: a management cluster, a workload cluster, an upgrade that fails in the middle, and its resume.

The clusters are simulated: all else is as on AWS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from tidegate_local.demo.deploys import plan_panel
from tidegate_local.demo.followed import Followed
from tidegate_local.demo.stage import DemoFailed, Stage, awaited
from tidegate_local.updates_client import ApiAnswered, ask

REPOSITORY = "demo/clusters"
#: The versions before and after the upgrade. A workload cluster is never newer than its management cluster.
BEFORE, AFTER = "1.33", "1.34"
_TESTED = "tested-versions"
_FILE = f"""\
version: 1
roots: []
stacks:
  names:
    management: {{tag_query: "tier:management"}}
    workload: {{tag_query: "tier:workload", rules: {{plan_after: [management]}}}}
clusters:
  - name: hub
    kind: management
    provider: simulated
    spec: hub/cluster.yaml
    tags: [tier:management]
    components: [{{name: network, role: networking, manifests: network.yaml, version: 1.0.0}}]
  - name: shop
    kind: workload
    management: hub
    provider: simulated
    spec: shop/cluster.yaml
    tags: [tier:workload]
    components: [{{name: network, role: networking, manifests: network.yaml, version: 1.0.0}}]
    hooks:
      - {{name: is-tested, before: upgrade-cluster, run: [grep, --line-regexp, --file=cluster.yaml, ../{_TESTED}]}}
"""
_NETWORK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: network}\n"
_MARKS = {"failed": "[bold red]✗[/]", "warned": "[bold yellow]![/]", "done-before": "[dim]✓[/]"}
#: What a task or hook is when there is something to tell of it.
_TOLD = frozenset({"done", "done-before", "warned", "failed"})


def play(stage: Stage) -> None:
    """Run the scenario. Raise DemoFailed on an unexpected result."""
    try:
        _play(Clusters(stage))
    except ApiAnswered as refused:
        raise DemoFailed(f"The API answered {refused}.") from refused


def _play(clusters: Clusters) -> None:
    clusters.begins("Clusters: two are created, the workload cluster after its management cluster")
    clusters.pushes(
        {
            "tidegate.yaml": _FILE,
            "network.yaml": _NETWORK,
            "hub/cluster.yaml": _spec(AFTER),
            "shop/cluster.yaml": _spec(BEFORE),
            _TESTED: _spec(BEFORE),
        },
        "Declare two clusters",
    )
    for name in ("hub", "shop"):
        clusters.approves(name)
        clusters.ends(name, "ready")
    clusters.begins("An upgrade that fails in the middle")
    clusters.pushes({"shop/cluster.yaml": _spec(AFTER)}, f"Upgrade shop to Kubernetes {AFTER}")
    clusters.approves("shop")
    clusters.ends("shop", "failed")
    clusters.begins("Its resume")
    clusters.pushes({_TESTED: _spec(BEFORE) + _spec(AFTER)}, f"Kubernetes {AFTER} is tested")
    clusters.resumes("shop")
    clusters.approves("shop", again=True)
    clusters.ends("shop", "ready")
    clusters.show()


def _spec(version: str) -> str:
    return f'kubernetes: "{version}"\n'


class Clusters:
    """The repository of the scenario, as its people see it."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._forge, self._reviewer = stage, stage.forge, stage.person("reviewer")
        self._operator = stage.person("maintainer").user_token()
        self._sha, self._deployment = "", ""

    def begins(self, title: str) -> None:
        """Print a heading."""
        self._stage.console.rule(f"[bold]{title}")

    def pushes(self, files: Mapping[str, str], message: str) -> None:
        """Merge a change of files."""
        self._sha = self._forge.push(REPOSITORY, files, message)
        self._stage.say(f"maintainer merged [bold]{message}[/]: {self._forge.url}/{REPOSITORY}/commit/{self._sha}")

    def approves(self, name: str, *, again: bool = False) -> None:
        """Show a cluster's plan once it waits for review, and approve it. One that was seen before is not shown."""
        one = Followed(f"tidegate/deploy: {name}", name)
        awaited(lambda: self._waits(one) or None, f"The plan of {name}")
        self._deployment = str(one.check_run["external_id"])
        if not again:
            self._stage.console.print(plan_panel(one))
        self._reviewer.click(REPOSITORY, one.check_run["id"], "Approve")
        self._stage.say(f"[bold green]✓[/] reviewer clicked [bold]Approve[/] on {one.name}")

    def ends(self, name: str, state: str) -> None:
        """Tell of each task and hook as it ends, until the workflow does."""
        told: set[tuple[str, str, str]] = set()

        def look() -> Mapping[str, Any] | None:
            found = self._cluster(name)
            flow = found["workflow"] if found else None
            if found is None or flow is None or flow["deployment"] != self._deployment:
                return None
            for part in _parts(flow):
                place = (part["registrar"], part["hook"], part["task"])
                if part["state"] in _TOLD and place not in told:
                    told.add(place)
                    self._stage.say(_line(part))
            return found if found["state"] not in {"working", "releasing"} else None

        found = awaited(look, f"The end of the workflow of {name}")
        if found["state"] != state:
            raise DemoFailed(f"{name} is {found['state']}, not {state}: {found['workflow']['error']}")
        held = ", ".join(each["name"] for each in found["held"]) or "nothing"
        ended = f"{name} is [bold]ready[/]" if state == "ready" else f"The workflow of {name} has [bold]failed[/]"
        self._stage.say(f"{ended}, with Kubernetes {found['kubernetes']}. It holds {held}.")

    def resumes(self, name: str) -> None:
        """Resume a cluster's failed workflow."""
        done = self._ask("POST", f"/{name}/resume", {})
        self._stage.say(f"maintainer ran [bold]tidegate cluster resume {REPOSITORY} {name}[/]: {done['message']}")

    def show(self) -> None:
        """Print what there is."""
        table = Table.grid(padding=(0, 2))
        for each in self._ask("GET", "")["clusters"]:
            cells = (each["name"], each["state"], f"Kubernetes {each['kubernetes']}", each["url"])
            table.add_row(*(Text(str(cell), no_wrap=True) for cell in cells))
        self.begins("What there is")
        self._stage.console.print(table, soft_wrap=True)

    def _waits(self, one: Followed) -> bool:
        runs = [run for run in self._forge.check_runs(REPOSITORY, self._sha) if run["name"] == one.name]
        one.check_run = max(runs, key=lambda run: int(run["id"]), default={})
        if one.done:
            raise DemoFailed(f"{one.label} ended as {one.title!r}: {one.check_run['output'].get('summary', '')}")
        return one.waits_for_review

    def _cluster(self, name: str) -> dict[str, Any] | None:
        try:
            return self._ask("GET", f"/{name}")
        except ApiAnswered as refused:
            if refused.is_missing:
                return None
            raise

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        url = f"{self._stage.cloud.api_url}/api/v1/clusters/{REPOSITORY}{path}"
        return ask(method, url, self._operator, body)


def _parts(flow: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from flow["start"]
    for each in flow["tasks"]:
        yield from (*each["before"], each["task"], *each["after"])
    for name in ("end", "more", "on_error", "always"):
        yield from flow[name]


def _line(part: Mapping[str, Any]) -> str:
    mark = _MARKS.get(part["state"], "[bold green]✓[/]")
    name = f"  hook {part['hook']} of {part['registrar']}" if part["hook"] else part["title"]
    said = "done before" if part["state"] == "done-before" else part["reason"] if part["state"] == "failed" else ""
    return f"  {mark} {name}" + (f": {Text(said).markup}" if said else "")

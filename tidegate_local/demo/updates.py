"""The act ``updates``: images that CI announces reach production, one that breaks its checks does not.

The demo plays CI of both repositories, and the targets that report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from tidegate_local.demo.stage import DemoFailed, Stage, awaited
from tidegate_local.options import PROJECT
from tidegate_local.updates_client import ApiAnswered, UpdatesClient, app_commit

CONFIG, APP = "demo/config", "demo/shop"
SAMPLE = PROJECT / "examples" / "config-repository"
SET, SERVICES = "shop", ("web", "worker")
#: The sample's chain, without its times to wait for.
FILE = f"""\
config_updates:
  required_checks: [{{name: check, app: github-actions}}]
  sets:
    - name: {SET}
      app: {{repository: {APP}}}
      environments:
        - {{name: staging, file: images/staging.json, targets: [{{name: staging-eu}}]}}
        - name: production
          file: images/production.json
          targets: [{{name: production-eu}}, {{name: production-us}}]
"""
#: The targets of each environment.
TARGETS = {"staging": ("staging-eu",), "production": ("production-eu", "production-us")}


def play(stage: Stage) -> None:
    """Run the scenario. Raise DemoFailed on an unexpected result."""
    stage.console.rule("[bold]Config updates: images reach production, commit by tested commit")
    try:
        _play(Updates(stage))
    except ApiAnswered as refused:
        raise DemoFailed(f"The API answered {refused}.") from refused


def _play(updates: Updates) -> None:
    updates.begin()
    first = updates.announce(1)
    updates.checks(first, "success")
    updates.lands(first, "staging")
    updates.report("staging")
    promoted = updates.promoted()
    updates.checks(promoted, "success")
    updates.lands(promoted, "production")
    updates.report("production")
    updates.new_paragraph()
    broken, innocent = updates.announce(2), updates.announce(3)
    updates.checks(broken, "failure")
    updates.ends(broken, "evicted")
    updates.checks(innocent, "success")
    updates.lands(innocent, "staging")
    updates.show()


class Updates:
    """The config repository of the scenario, as CI, its targets and an operator see it."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._forge = stage, stage.forge
        self._api = UpdatesClient(stage.cloud.api_url, stage.forge, CONFIG, APP)
        self._operator = stage.person("maintainer").user_token()
        self._tokens: dict[str, str] = {}

    def new_paragraph(self) -> None:
        """Print an empty line."""
        self._stage.console.print()

    def begin(self) -> None:
        """Push the config repository, and give each target its token."""
        files = {
            str(path.relative_to(SAMPLE)): path.read_text() for path in sorted(SAMPLE.rglob("*")) if path.is_file()
        }
        self._forge.push(APP, {"README.md": "# Shop\n"}, "Begin")
        self._forge.push(CONFIG, {**files, "tidegate.yaml": FILE}, "Begin")
        awaited(lambda: self._api.is_known(self._operator) or None, "The webhook of the first push")
        for target in (each for targets in TARGETS.values() for each in targets):
            self._tokens[target] = self._api.new_target_token(SET, target, self._operator)
        self._stage.say(f"maintainer pushed [bold]{CONFIG}[/]: {self._stage.forge.url}/{CONFIG}")
        self._stage.say(f"What runs where, as a page: {self._stage.cloud.api_url}/config-updates/{CONFIG}")

    def announce(self, number: int) -> str:
        """Announce the images of a build as CI does, with the token of its job; return the entry."""
        made = self._api.announce(SET, number, SERVICES)
        self._stage.say(f"CI of {APP} announced build {number}, [bold]{app_commit(number)[:10]}[/]")
        return str(made["id"])

    def checks(self, entry: str, conclusion: str) -> None:
        """Report the required check of an entry's commit, as CI of the config repository does."""
        commit = self._awaited(entry, lambda one: one["commit"] if one["state"] == "testing" else None, "its commit")
        self._forge.report_check(CONFIG, commit, "check", conclusion)
        mark = "[bold green]✓[/]" if conclusion == "success" else "[bold red]✗[/]"
        self._stage.say(f"{mark} check of [bold]{commit[:7]}[/] on auto: {conclusion}")

    def lands(self, entry: str, environment: str) -> None:
        """Wait until the default branch is at an entry's commit."""
        commit = self.ends(entry, "landed")
        head = self._forge.call("GET", f"/repos/{CONFIG}/branches/main")["commit"]["sha"]
        if head != commit:
            raise DemoFailed(f"main is at {head[:7]}, not at the tested commit {commit[:7]}.")
        self._stage.say(f"[bold green]✓[/] main moved forward to [bold]{commit[:7]}[/]: new images in {environment}")

    def ends(self, entry: str, state: str) -> str:
        """Wait for the end of an entry; return its commit."""
        one = self._awaited(entry, lambda one: one if one["state"] not in {"queued", "testing"} else None, "its end")
        if one["state"] != state:
            raise DemoFailed(f"The entry {entry} is {one['state']}, not {state}: {one['reason']}")
        if state == "evicted":
            self._stage.say(f"[bold red]✗[/] [bold]{one['commit'][:7]}[/] was evicted: {one['reason']}")
        return str(one["commit"])

    def report(self, environment: str) -> None:
        """Report from all targets of an environment that they run what is on the default branch."""
        head = self._forge.call("GET", f"/repos/{CONFIG}/branches/main")["commit"]["sha"]
        for target in TARGETS[environment]:
            self._api.report(SET, target, self._tokens[target], head)
            self._stage.say(f"[bold green]✓[/] {target} reported that it deployed [bold]{head[:7]}[/]")

    def promoted(self) -> str:
        """Wait until the image set of staging is promoted; return the entry."""

        def look() -> str | None:
            queue = self._get("/queue")["entries"]
            return next((str(one["id"]) for one in queue if one["environment"] == "production"), None)

        entry = awaited(look, "The promotion to production")
        self._stage.say("Tidegate promoted it to [bold]production[/]")
        return entry

    def show(self) -> None:
        """Print what runs where."""
        table = Table.grid(padding=(0, 2))
        for each in self._get(f"/sets/{SET}")["environments"]:
            table.add_row(Text(each["name"], style="bold"), Text((each["newest"] or {}).get("app_sha", "–")[:10]))
        self._stage.console.rule("[bold]What runs where")
        self._stage.console.print(table)

    def _awaited(self, entry: str, look: Callable[[Mapping[str, Any]], Any], what: str) -> Any:
        return awaited(lambda: look(self._get(f"/entries/{entry}")), f"{entry}: {what}")

    def _get(self, path: str) -> dict[str, Any]:
        return self._api.call("GET", path, self._operator)

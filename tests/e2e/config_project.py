"""A config repository at the forge, as its people, the CI of both repositories, and its targets see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.deadlines import eventually
from tests.e2e.project import CheckRun, Project
from tidegate_local.demo.updates import APP, FILE, SAMPLE, SERVICES, SET
from tidegate_local.updates_client import UpdatesClient

CHECK_RUN = "tidegate/config-update"
_OPERATOR = "reviewer"
_UNDECIDED = {"queued", "testing"}
Entry = Mapping[str, Any]


def sample(app: str, by: str = "github-actions") -> dict[str, str]:
    """Return the files of the example's config repository; ``by`` reports its required check."""
    files = {str(path.relative_to(SAMPLE)): path.read_text() for path in SAMPLE.rglob("*") if path.is_file()}
    return {**files, "tidegate.yaml": FILE.replace(APP, app).replace("github-actions", by)}


@dataclass(frozen=True)
class ConfigProject(Project):
    """A config repository with the example's templates and generator. Its name is its own among all tests."""

    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def app(self) -> str:
        """The repository whose CI announces."""
        return f"{self.name}-app"

    @property
    def api(self) -> UpdatesClient:
        """The API of the config repository."""
        return UpdatesClient(self.tidegate.cloud.api_url, self.tidegate.maintainer, self.name, self.app)

    def begin(self, **files: str) -> str:
        """Push the application, and the example's files and these ones; return the commit of ``main``."""
        self.tidegate.maintainer.push(self.app, {"README.md": "# Shop\n"}, "Begin")
        begun = self.push_files({**sample(self.app), **files}, "Begin")
        eventually(lambda: self.api.is_known(_OPERATOR), what="the webhook of the first push")
        return begun

    # What CI says

    def announce(self, number: int, services: tuple[str, ...] = SERVICES) -> str:
        """Announce the images of a build with the token of its job; return the entry's id."""
        return str(self.api.announce(SET, number, services)["id"])

    def check(self, entry: str, conclusion: str, *, not_on: str = "") -> str:
        """Report the required check of an entry's commit once it has one; return the commit."""
        commit = self.commit(entry, not_on=not_on)
        self.tidegate.maintainer.report_check(self.name, commit, "check", conclusion)
        return commit

    def report(self, target: str, result: str = "succeeded") -> None:
        """Report that a target deployed what is on ``main``."""
        if target not in self.tokens:
            self.tokens[target] = self.api.new_target_token(SET, target, _OPERATOR)
        self.api.report(SET, target, self.tokens[target], self.head("main"), result)

    # What there is

    def commit(self, entry: str, *, not_on: str = "") -> str:
        """Return the commit of an entry that is tested, once it has one: another than ``not_on``."""
        tested = lambda one: one["state"] == "testing" and one["commit"] != not_on  # noqa: E731
        return str(self.entry(entry, tested, "its commit")["commit"])

    def lands(self, entry: str) -> str:
        """Wait until an entry has landed, and return its commit, at which ``main`` is or was."""
        return str(self.ends(entry, "landed")["commit"])

    def ends(self, entry: str, state: str) -> Entry:
        """Wait until an entry has left the queue in this state."""
        one = self.entry(entry, lambda one: one["state"] not in _UNDECIDED, "its end")
        assert one["state"] == state, one
        return one

    def entry(self, entry: str, until: Callable[[Entry], bool] = bool, what: str = "") -> Entry:
        """Return an entry once it is so."""

        def look() -> Entry | None:
            one = self.call("GET", f"/entries/{entry}")
            return one if until(one) else None

        try:
            return eventually(look, what=f"{entry}: {what}")
        except AssertionError as late:
            late.add_note(str(self.call("GET", "/queue")))
            late.add_note(self.tidegate.story())
            raise

    def queue(self, until: Callable[[Mapping[str, Any]], Any] = bool) -> Mapping[str, Any]:
        """Return the queue once it is so."""

        def look() -> Mapping[str, Any] | None:
            queue = self.call("GET", "/queue")
            return queue if until(queue) else None

        return eventually(look, what="the queue")

    def promoted(self, environment: str) -> str:
        """Wait until an image set is promoted to an environment; return the entry's id."""
        there = lambda queue: any(one["environment"] == environment for one in queue["entries"])  # noqa: E731
        entries = self.queue(there)["entries"]
        return next(str(one["id"]) for one in entries if one["environment"] == environment)

    def newest(self, environment: str) -> Mapping[str, Any]:
        """Return the newest image set of an environment."""
        found = self.call("GET", f"/sets/{SET}")["environments"]
        return next(one["newest"] for one in found if one["name"] == environment)

    def hold(self) -> Mapping[str, Any] | None:
        """Return who holds the image set and why."""
        found: Mapping[str, Any] | None = self.call("GET", f"/sets/{SET}")["held"]
        return found

    def head(self, branch: str) -> str:
        """Return where a branch is, empty if there is none."""
        return self.git("ls-remote", "{url}", f"refs/heads/{branch}").partition("\t")[0]

    def shown(self, commit: str, until: Callable[[CheckRun], bool]) -> CheckRun:
        """Return the check run on an entry's commit once it is so."""

        def look() -> CheckRun | None:
            found = self.check_runs(commit, CHECK_RUN)
            return found[0] if found and until(found[0]) else None

        return eventually(look, what=f"{CHECK_RUN} on {commit}")

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, by: str = _OPERATOR
    ) -> dict[str, Any]:
        """Return the answer of the API to an operator, below the config repository."""
        return self.api.call(method, path, by, body)

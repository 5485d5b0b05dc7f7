"""A config repository in the soak: its CI, its targets and its people, and what was seen of its branches."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from soak.update_rules import (
    AUTO,
    CI,
    ID,
    MAIN,
    Accepted,
    BranchHead,
    ConfigCommit,
    ConfigHistory,
    Held,
    Reported,
)
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeAnswered, ForgeClient
from tidegate_local.forge.git import ENVIRONMENT
from tidegate_local.options import PROJECT
from tidegate_local.updates_client import ApiAnswered, UpdatesClient, app_commit

REPOSITORY, APP = "acme/config", "acme/shop"
SAMPLE = PROJECT / "examples" / "config-repository"
SET, SERVICES = "shop", ("web", "worker")
#: The targets of each environment, in their order.
CHAIN = {"staging": ("staging-eu",), "internal": ("internal-eu",), "production": ("production-eu", "production-us")}
_FILE = f"""\
config_updates:
  required_checks: [{{name: check, app: github-actions}}]
  check_timeouts: {{start: 1d, finish: 1d}}
  sets:
    - name: {SET}
      app: {{repository: {APP}}}
      environments:
        - {{name: staging, file: images/staging.json, targets: [{{name: staging-eu}}]}}
        - {{name: internal, file: images/internal.json, targets: [{{name: internal-eu}}]}}
        - name: production
          file: images/production.json
          targets: [{{name: production-eu}}, {{name: production-us}}]
"""
_OPERATORS, _ONLOOKER = ("maintainer", "reviewer"), "visitor"
#: What CI says of a commit at last.
_FINAL = frozenset({"success", "failure"})
#: Of so many builds one breaks its own checks, and of so many of these one those of all above it.
_GUILTY_IN, _CARRIES_IN = 4, 2
#: Of so many builds one takes so long that a newer one is announced before.
_SLOW_IN = 5
#: Entries at which nobody announces more.
_CROWD = 6
_PEOPLE = "developer"
_PATIENCE = 120.0


@dataclass
class ConfigRepository:
    """Everything that the events of a config repository work on."""

    cloud: LocalCloud
    chance: random.Random
    place: Path
    guilty: dict[str, bool] = field(default_factory=dict)
    accepted: dict[str, Accepted] = field(default_factory=dict)
    heads: list[BranchHead] = field(default_factory=list)
    reports: list[Reported] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    dismissed: set[str] = field(default_factory=set)
    by_hand: int = 0
    builds: int = 0
    slow: list[int] = field(default_factory=list)
    marks: int = 0
    _since: float = 0.0
    _running: dict[str, int] = field(default_factory=dict)
    _commits: dict[str, ConfigCommit] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Push the example with a chain of three environments, and give each target its token."""
        files = {str(path.relative_to(SAMPLE)): path.read_text() for path in SAMPLE.rglob("*") if path.is_file()}
        self.forge.push(APP, {"README.md": "# Shop\n"}, "Begin")
        self.forge.push(REPOSITORY, {**files, "tidegate.yaml": _FILE}, "Begin")
        _until(lambda: self.api.is_known(_OPERATORS[0]))
        for target in (target for targets in CHAIN.values() for target in targets):
            self._tokens[target] = self.api.new_target_token(SET, target, _OPERATORS[0])
        self.place.mkdir()
        self._git("init", "--quiet", "--bare")
        self.look()

    @property
    def forge(self) -> ForgeClient:
        """A person who may write."""
        return ForgeClient(self.cloud.info["forge_url"], _PEOPLE)

    @cached_property
    def api(self) -> UpdatesClient:
        """The API, as CI, targets and people use it."""
        return UpdatesClient(self.cloud.info["api_url"], self.forge, REPOSITORY, APP)

    def look(self) -> None:
        """See where the branches are, and fetch what is new."""
        refs = "+refs/heads/*:refs/forge/*"
        self._git("fetch", "--quiet", "--prune", self.forge.clone_url(REPOSITORY), refs)
        for branch in (MAIN, AUTO):
            sha = self.at(branch)
            known = next((head for head in reversed(self.heads) if head.branch == branch), None)
            if sha and (known is None or known.sha != sha):
                self._learn(sha)
                self.heads.append(BranchHead(time.time(), branch, sha))

    def at(self, branch: str) -> str:
        """Return where a branch was when last looked at; "" for nowhere."""
        return self._git("for-each-ref", "--format=%(objectname)", f"refs/forge/{branch}").strip()

    def _learn(self, tip: str) -> None:
        for sha in self._git("rev-list", "--first-parent", "--reverse", tip).split():
            if sha not in self._commits:
                parent, author, message = self._git("show", "-s", "--format=%P%x00%an%x00%B", sha).split("\0", 2)
                files = {name: self._git("rev-parse", f"{sha}:images/{name}.json").strip() for name in CHAIN}
                self._commits[sha] = ConfigCommit(sha, parent.split(" ")[0], author == "Tidegate", message, files)
        if self._commits[tip].fresh is None:
            self._commits[tip] = replace(self._commits[tip], fresh=self._is_fresh(tip))

    def _is_fresh(self, sha: str) -> bool:
        with tempfile.TemporaryDirectory(prefix="soak-config-") as directory:
            self._check_out(sha, Path(directory))
            return _generated(Path(directory), "--check")

    def _check_out(self, sha: str, place: Path) -> None:
        self._git(f"--work-tree={place}", "checkout", "--force", "--quiet", sha, "--", ".")

    def on_auto(self) -> list[ConfigCommit]:
        """Return the commits on the auto branch that the default branch does not have, the lowest first."""
        main, auto = self.at(MAIN), self.at(AUTO)
        if not main or not auto:
            return []
        shas = self._git("rev-list", "--first-parent", "--reverse", auto, f"^{main}").split()
        return [self._commits[sha] for sha in shas if sha in self._commits and self._commits[sha].ours]

    def undecided(self) -> list[ConfigCommit]:
        """Return those of them of which CI has not said its last word."""
        said = {each.sha for each in self.reports if each.conclusion in _FINAL and each.app == CI}
        return [each for each in self.on_auto() if each.sha not in said]

    def truth(self, commit: ConfigCommit) -> str:
        """Return what CI finds out about a commit: it tests the commit with all below it."""
        stack = self.on_auto()
        below = stack[: stack.index(commit)] if commit in stack else []
        is_bad = _build(commit) in self.guilty or any(self.guilty.get(_build(each)) for each in below)
        return "failure" if is_bad else "success"

    def say(self, sha: str, conclusion: str) -> None:
        """Report the required check of a commit as CI; an empty conclusion: it has begun."""
        self.reports.append(Reported(time.time(), sha, conclusion))
        begun = self._running.pop(sha, None)
        if begun is not None:
            self.forge.conclude_check(REPOSITORY, begun, conclusion)
            return
        run = self.forge.report_check(REPOSITORY, sha, "check", conclusion)
        if not conclusion:
            self._running[sha] = run

    def claim(self, sha: str) -> None:
        """Set a status of the required check's name as a person, for whom it does not count."""
        self.reports.append(Reported(time.time(), sha, "success", _PEOPLE))
        self.forge.set_status(REPOSITORY, sha, "check", "success")

    def runs(self, sha: str) -> bool:
        """Tell whether the check of a commit has begun and not ended."""
        return sha in self._running

    def ask(self, path: str, given: dict[str, Any] | None = None, by: str = "") -> str:
        """Order something as a person; return what came of it."""
        who = by or self.chance.choice(_OPERATORS)
        try:
            self.api.call("POST", path, who, given or {})
        except ApiAnswered as refused:
            return f"{who}: {refused}"[:160]
        return f"{who}: done"

    def queue(self) -> dict[str, Any]:
        """Return the queue as the API shows it."""
        return self.api.call("GET", "/queue", _OPERATORS[0])

    def report_target(self, target: str, sha: str, result: str) -> str:
        """Report as a target; return what came of it."""
        try:
            self.api.report(SET, target, self._tokens[target], sha, result)
        except ApiAnswered as refused:
            return str(refused)[:160]
        return f"{target} {result} at {sha[:7]}"

    def hold(self) -> str:
        """Hold the image set."""
        told = self.ask(f"/sets/{SET}/hold", {"reason": "soak"})
        if told.endswith("done"):
            self._since = time.time()
        return told

    def release(self) -> str:
        """Release the image set."""
        if self._since:
            self.held.append(Held(self._since, time.time()))
            self._since = 0.0
        return self.ask(f"/sets/{SET}/release")

    def announce(self, number: int) -> str:
        """Announce a build; return what came of it."""
        at = time.time()
        try:
            made = self.api.announce(SET, number, SERVICES)
        except (ApiAnswered, ForgeAnswered) as refused:
            return str(refused)[:160]
        entry = str(made["id"])
        self.accepted.setdefault(entry, Accepted(at, entry, app_commit(number) in self.guilty))
        return f"build {number}: {made['state']}"

    def push_by_hand(self, change: Callable[[Path], None], message: str) -> str:
        """Push a person's commit on top of the default branch, with everything generated; "" if another was faster."""
        with tempfile.TemporaryDirectory(prefix="soak-config-") as directory:
            tree = Path(directory, "tree")
            remote = self.forge.clone_url(REPOSITORY)
            _run_git(Path(directory), "clone", "--quiet", "--branch", MAIN, remote, str(tree))
            change(tree)
            _generated(tree)
            _run_git(tree, "add", "--all")
            _run_git(tree, "commit", "--quiet", "--allow-empty", "--message", message)
            try:
                _run_git(tree, "push", "--quiet", remote, f"HEAD:refs/heads/{MAIN}")
            except RuntimeError:
                return ""
            self.by_hand += 1
            return _run_git(tree, "rev-parse", "HEAD").strip()

    def delete_auto(self) -> None:
        """Delete the auto branch, as somebody who tidies up."""
        self._git("push", "--quiet", self.forge.clone_url(REPOSITORY), "--delete", AUTO)

    def files_before(self, environment: str) -> list[str]:
        """Return earlier commits of the default branch at which an environment had another image set."""
        now = self._commits[self.at(MAIN)].files[environment]
        line = [self._commits[sha] for sha in self._git("rev-list", "--first-parent", self.at(MAIN)).split()]
        return [each.sha for each in line if each.files[environment] != now]

    def content(self, sha: str, path: str) -> str:
        """Return a file of a commit."""
        return self._git("show", f"{sha}:{path}")

    def history(self) -> ConfigHistory:
        """Return what was seen so far; entries as they are now."""
        return ConfigHistory(
            REPOSITORY,
            tuple(CHAIN),
            dict(self._commits),
            tuple(self.heads),
            tuple(self.reports),
            tuple(self.accepted.values()),
            tuple(self.held),
            tuple(sorted(self.dismissed)),
            self.by_hand,
        )

    def observed(self) -> ConfigHistory:
        """Return the history at the end: with what became of each announcement."""
        self.look()
        for entry, one in self.accepted.items():
            found = self.api.call("GET", f"/entries/{entry}", _OPERATORS[0])
            self.accepted[entry] = replace(one, state=found["state"], reason=found["reason"])
        return self.history()

    def unfinished(self) -> list[str]:
        """Return what still moves, or should: in a few words each. CI and people have decided what they can."""
        try:
            queue = self.queue()
        except ApiAnswered as refused:
            return [f"no config queue: {refused}"[:80]]
        states = self.cloud.client("stepfunctions")
        arn = self.cloud.info["state_machines"]["promotion"]
        running = states.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]
        counted = {"config updates": len(queue["entries"]), "promotions": len(running)}
        return [f"{count} {what}" for what, count in counted.items() if count]

    def decide(self) -> None:
        """Let everybody do what is left to do: CI its last word, people their releases, targets their reports."""
        self.look()
        try:
            queue = self.queue()
        except ApiAnswered:
            return
        if queue["paused"]:
            self.ask("/queue/resume")
        self.release()
        for commit in self.undecided():
            self.say(commit.sha, self.truth(commit))
        for target in (target for targets in CHAIN.values() for target in targets):
            self.report_target(target, self.at(MAIN), "succeeded")

    def picture(self) -> str:
        """Return what people see of it: as long as it changes, something moves."""
        try:
            shown = [f"{each['id']}{each['state']}{each['verdict']}" for each in self.queue()["entries"]]
        except ApiAnswered:
            shown = []
        return " ".join([self.at(MAIN), self.at(AUTO), *shown])

    def _git(self, *arguments: str) -> str:
        return _run_git(self.place, *arguments)


def _until(look: Callable[[], bool]) -> None:
    """Wait until something is so. Raise TimeoutError after two minutes."""
    end = time.monotonic() + _PATIENCE
    while not look():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(1.0)


def _build(commit: ConfigCommit) -> str:
    return commit.trailers.get("Autocommit-App-SHA", "")


def _generated(tree: Path, *options: str) -> bool:
    done = subprocess.run([sys.executable, "generate.py", *options], cwd=tree, capture_output=True, check=False)
    return done.returncode == 0


def _run_git(place: Path, *arguments: str) -> str:
    people = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in _NAMED.items()}
    done = subprocess.run(
        ["git", *arguments],
        cwd=place,
        env={**os.environ, **ENVIRONMENT, **people},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


_NAMED = {"NAME": _PEOPLE, "EMAIL": f"{_PEOPLE}@users.noreply.forge.invalid"}
UpdateEvent = Callable[[ConfigRepository], str | None]


def announce_images(repository: ConfigRepository) -> str | None:
    """Announce the next build, guilty or not, unless many wait."""
    if len(repository.on_auto()) >= _CROWD:
        return judge(repository)
    repository.builds += 1
    if repository.chance.randrange(_SLOW_IN) == 0:
        repository.slow.append(repository.builds)
        repository.builds += 1
    number = repository.builds
    if repository.chance.randrange(_GUILTY_IN) == 0:
        repository.guilty[app_commit(number)] = repository.chance.randrange(_CARRIES_IN) == 0
    return repository.announce(number)


def announce_several(repository: ConfigRepository) -> str | None:
    """Announce a few builds, one after the other."""
    told = [announce_images(repository) for _ in range(repository.chance.randint(2, 3))]
    return "; ".join(each for each in told if each)


def announce_late(repository: ConfigRepository) -> str | None:
    """Announce a slow build, after newer ones."""
    return repository.announce(repository.slow.pop()) if repository.slow else None


def announce_again(repository: ConfigRepository) -> str | None:
    """Announce an earlier build again: the job of CI was run again."""
    known = sorted({*range(1, repository.builds + 1)} - {*repository.slow})
    return repository.announce(repository.chance.choice(known)) if known else None


def judge(repository: ConfigRepository) -> str | None:
    """Let CI say something of a commit on the auto branch: its last word, or less."""
    open_ = repository.undecided()
    if not open_:
        return None
    commit = repository.chance.choice(open_)
    kinds = ["truth"] * 6 + ["cancelled", "cancelled", "timed_out", "begun", "stranger"]
    kind = repository.chance.choice(kinds)
    if kind == "stranger":
        repository.claim(commit.sha)
    elif kind == "begun" and not repository.runs(commit.sha):
        repository.say(commit.sha, "")
    elif kind == "timed_out" and any((each.sha, each.conclusion) == (commit.sha, kind) for each in repository.reports):
        return None
    elif kind in {"cancelled", "timed_out"}:
        repository.say(commit.sha, kind)
    else:
        kind = repository.truth(commit)
        repository.say(commit.sha, kind)
    return f"{kind} of {commit.sha[:7]}"


def judge_all(repository: ConfigRepository) -> str | None:
    """Let CI say its last word of every commit, in any order."""
    open_ = repository.undecided()
    repository.chance.shuffle(open_)
    for commit in open_:
        repository.say(commit.sha, repository.truth(commit))
    return f"{len(open_)} commits" if open_ else None


def report(repository: ConfigRepository) -> str:
    """Let a target report: mostly the newest commit, sometimes one before; mostly a success."""
    chance = repository.chance
    target = chance.choice([target for targets in CHAIN.values() for target in targets])
    seen = [head.sha for head in repository.heads if head.branch == MAIN]
    sha = seen[-1] if chance.randrange(4) else chance.choice(seen)
    return repository.report_target(target, sha, "succeeded" if chance.randrange(6) else "failed")


def report_all(repository: ConfigRepository) -> str:
    """Let all targets report the newest commit."""
    sha = repository.at(MAIN)
    targets = [target for targets in CHAIN.values() for target in targets]
    return "; ".join(repository.report_target(target, sha, "succeeded") for target in targets)


def push_by_hand(repository: ConfigRepository) -> str | None:
    """Push a person's commit to the default branch: another template, and what is generated from it."""
    repository.marks += 1
    mark = f"\n# mark {repository.marks}\n"

    def change(tree: Path) -> None:
        template = tree / "templates" / "web.yaml"
        template.write_text(template.read_text().rstrip() + mark)

    return repository.push_by_hand(change, f"Change {repository.marks}") or None


def go_back_by_hand(repository: ConfigRepository) -> str | None:
    """Put the image file of an environment back to an earlier one, past Tidegate: that holds the image set."""
    environment = repository.chance.choice(list(CHAIN))
    earlier = repository.files_before(environment)
    if not earlier:
        return None
    path = f"images/{environment}.json"
    content = repository.content(repository.chance.choice(earlier), path)
    done = repository.push_by_hand(lambda tree: _write(tree / path, content), f"Go back in {environment}")
    return f"{environment} {done[:7]}" if done else None


def _write(path: Path, content: str) -> None:
    path.write_text(content)


def hold_set(repository: ConfigRepository) -> str:
    """Hold the image set."""
    return repository.hold()


def release_set(repository: ConfigRepository) -> str:
    """Release the image set."""
    return repository.release()


def pause_updates(repository: ConfigRepository) -> str:
    """Pause the queue."""
    return repository.ask("/queue/pause", {"reason": "soak"})


def resume_updates(repository: ConfigRepository) -> str:
    """Resume the queue."""
    return repository.ask("/queue/resume")


def evict_entry(repository: ConfigRepository) -> str | None:
    """Evict an entry from the auto branch; sometimes somebody tries who may not."""
    stack = repository.on_auto()
    if not stack:
        return None
    entry = repository.chance.choice(stack).trailers[ID]
    by = repository.chance.choice((*_OPERATORS, _ONLOOKER))
    if by != _ONLOOKER:
        repository.dismissed.add(entry)
    return f"{entry} {repository.ask(f'/entries/{entry}/evict', by=by)}"


def retry_entry(repository: ConfigRepository) -> str | None:
    """Retry an announcement, whatever became of it."""
    if not repository.accepted:
        return None
    entry = repository.chance.choice(sorted(repository.accepted))
    return f"{entry} {repository.ask(f'/entries/{entry}/retry')}"


def roll_back(repository: ConfigRepository) -> str:
    """Roll an environment back to the image set before."""
    environment = repository.chance.choice(list(CHAIN))
    return f"{environment} {repository.ask(f'/sets/{SET}/environments/{environment}/rollback')}"


def delete_auto(repository: ConfigRepository) -> str | None:
    """Delete the auto branch."""
    if not repository.at(AUTO):
        return None
    try:
        repository.delete_auto()
    except RuntimeError:
        return None  # It was deleted before.
    return ""


#: What happens to a config repository and how often, against each other.
UPDATES: tuple[tuple[UpdateEvent, int], ...] = (
    (announce_images, 10),
    (announce_several, 4),
    (announce_late, 2),
    (announce_again, 1),
    (judge, 14),
    (judge_all, 6),
    (report, 6),
    (report_all, 5),
    (push_by_hand, 3),
    (go_back_by_hand, 1),
    (hold_set, 2),
    (release_set, 3),
    (pause_updates, 1),
    (resume_updates, 4),
    (evict_entry, 1),
    (retry_entry, 2),
    (roll_back, 1),
    (delete_auto, 1),
)

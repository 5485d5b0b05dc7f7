"""A config repository in memory whose queue, targets and promotions a test drives.

The default branch is a line of commits. ``go_on`` takes every execution of the machine ``promotion`` as far as it gets.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.fakes.config_updates import MemoryConfigBranches
from tests.fakes.ports import memory_ports, port
from tests.instants import utc
from tidegate.config.model.file import FILE
from tidegate.config_updates.promotions.begin_promotion import begin_promotion
from tidegate.config_updates.promotions.follow_update import follow_update
from tidegate.config_updates.promotions.promote_entry import promote_entry
from tidegate.config_updates.promotions.promotion_steps import end_soak, stall_promotion, wait_in_promotion
from tidegate.config_updates.reports import DeployedTarget, report_target
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry, entry_id
from tidegate.config_updates.rules.environment import BY_HAND, Landed
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.promotion import Stage
from tidegate.config_updates.rules.queue import Hold, ended
from tidegate.messages.config_updates import (
    BeginPromotion,
    EndSoak,
    PromoteEntry,
    StallPromotion,
    WaitInPromotion,
)
from tidegate.messages.queues import FollowUpdate
from tidegate.ports import KnownRepository
from tidegate.vcs.rules.comparison import Comparison

REPOSITORY = "acme/config"
THREE = """\
config_updates:
  required_checks: [{name: build, app: github-actions}]
  sets:
    - name: shop
      app: {repository: acme/shop}
      environments:
        - {name: staging, file: staging.json, targets: [{name: s1}, {name: s2}, {name: s3}]}
        - {name: internal, file: internal.json, targets: [{name: i1}]}
        - {name: production, file: production.json, targets: [{name: p1}, {name: p2}]}
    - name: blog
      app: {repository: acme/blog}
      environments:
        - {name: test, file: blog-test.json, targets: [{name: t1}]}
        - {name: live, file: blog.json, targets: [{name: l1}]}
"""
#: The targets of the shop's first environment.
STAGING = ("s1", "s2", "s3")
_WAITS = ("checks", "targets", "after")


def about(entry):
    """Return the fields of a message about the promotion of an entry's attempt."""
    return {"repository": REPOSITORY, "entry": entry.id, "entry_attempt": entry.attempt}


@dataclass
class Line:
    """The port ``Commits`` on one line of commits, the oldest first."""

    commits: list[str] = field(default_factory=list)

    def compare(self, repository, base, head):
        if base not in self.commits or head not in self.commits:
            return Comparison.BASE_MISSING if base not in self.commits else Comparison.HEAD_MISSING
        distance = self.commits.index(head) - self.commits.index(base)
        return Comparison.AHEAD if distance > 0 else Comparison.BEHIND if distance else Comparison.IDENTICAL

    def default_branch(self, repository):
        return "main"


class Promotions:
    """The scenario. ``machines`` are the executions by name: the token that each waits with, empty once it ended."""

    store = port("config_updates")
    workflows = port("workflows")

    def __init__(self, configuration=THREE, **given):
        self.line = Line()
        self.branches = MemoryConfigBranches()
        self.ports = memory_ports(config_branches=self.branches, commits=self.line, **given)
        self.machines: dict[str, str] = {}
        self.stage: dict[str, str] = {}
        self.tokens = 0
        self.files = {FILE: configuration.encode()}
        self.push({})
        self.ports.repository_index.remember(KnownRepository(REPOSITORY, "main", self.tip, utc("2026-03-02T08:00")))

    @property
    def tip(self):
        return self.line.commits[-1]

    def push(self, files):
        """Move the default branch to a new commit with these files as well, and return it."""
        self.files = {**self.files, **files}
        sha = f"{len(self.line.commits) + 1:040x}"
        self.line.commits.append(sha)
        self.branches.heads["main"] = sha
        self.branches.files.update({(sha, path): content for path, content in self.files.items()})
        return sha

    def announce(self, images, image_set="shop", environment="staging", number=0):
        """Put an announcement on the auto branch, and return its entry."""
        at = self.ports.clock.now()
        identifier = entry_id(EntryKind.ANNOUNCEMENT, REPOSITORY, image_set, f"{images}/{number}")
        entry = UpdateEntry(
            identifier, REPOSITORY, image_set, environment, EntryKind.ANNOUNCEMENT, at, "ci", app_sha=f"{number:040x}"
        )
        head = self.store.head(REPOSITORY)
        self.store.commit(head, replace(head, base=self.tip, waiting=(*head.waiting, entry.id)), [entry])
        return self.test(entry)

    def test(self, entry):
        """Put a waiting entry on the auto branch."""
        head = self.store.head(REPOSITORY)
        testing = replace(entry, state=EntryState.TESTING)
        self.store.commit(head, replace(head, base=self.tip), [testing])
        self.follow(entry)
        return testing

    def follow(self, entry):
        follow_update(self.ports, FollowUpdate(repository=REPOSITORY, entry=entry.id))
        self.go_on()

    def land(self, entry, images=None):
        """Move the default branch to the entry's commit, as the queue's worker records it. Return the commit."""
        declared = self.environment_of(entry)
        content = images.encode() if images else self.branches.files[entry.source_sha, self.source_file(entry)]
        sha = self.push({declared: content})
        at = self.ports.clock.now()
        landed = replace(ended(entry, EntryState.LANDED, "", at), commit=sha, identity=identity_of(content))
        state = self.store.environment(REPOSITORY, *entry.environment_key)
        state = state.with_landed(Landed(sha, landed.identity, at, entry.by, entry.kind.value, entry.id))
        head = self.store.head(REPOSITORY)
        waiting = tuple(each for each in head.waiting if each != entry.id)
        self.store.commit(head, replace(head, base=sha, waiting=waiting), [landed], [state])
        self.follow(entry)
        return sha

    def land_by_hand(self, environment, images, image_set="shop"):
        content, at = images.encode(), self.ports.clock.now()
        sha = self.push({_FILES[image_set, environment]: content})
        state = self.store.environment(REPOSITORY, image_set, environment)
        self.store.save_environment(state.with_landed(Landed(sha, identity_of(content), at, "somebody", BY_HAND)))
        return sha

    def end(self, entry, state, reason=""):
        head = self.store.head(REPOSITORY)
        waiting = tuple(each for each in head.waiting if each != entry.id)
        at = self.ports.clock.now()
        self.store.commit(head, replace(head, waiting=waiting), [ended(entry, state, reason, at)])
        self.follow(entry)

    def complete(self, images="one", number=0):
        """Announce an image set of the shop, land it, and let all targets of staging deploy it. Return its entry."""
        entry = self.announce(images, number=number)
        self.land(entry, images)
        for each in STAGING:
            self.report(each)
        return entry

    def environment_of(self, entry):
        return _FILES[entry.environment_key]

    def source_file(self, entry):
        return _FILES[entry.image_set, entry.source_environment]

    def hold(self, image_set, hold=True):
        head = self.store.head(REPOSITORY)
        held = Hold("operator", self.ports.clock.now(), "look at it first") if hold else None
        self.store.commit(head, head.with_set(replace(head.set_state(image_set), hold=held)))

    def report(self, target, sha=None, image_set="shop", succeeded=True):
        found = report_target(self.ports, REPOSITORY, DeployedTarget(image_set, target, sha or self.tip, succeeded))
        self.go_on()
        return found

    def waiting(self, environment, image_set="shop"):
        """Return the entries that wait for the auto branch, of an environment."""
        entries = self.store.entries(REPOSITORY, self.store.head(REPOSITORY).waiting)
        return [each for each in entries.values() if each.environment_key == (image_set, environment)]

    def promotion(self, entry):
        return self.store.promotion(REPOSITORY, entry.id, entry.attempt)

    def go_on(self):
        """Take every execution as far as it gets."""
        for name, _, entry, attempt in self.ports.update_workflows.promotions:
            about = {"repository": REPOSITORY, "entry": entry, "entry_attempt": attempt}
            if name not in self.machines:
                begin_promotion(self.ports, BeginPromotion(**about))
                self._wait(name, about, "checks")
            while (token := self.machines[name]) and token in self.workflows.settled:
                self._next(name, about, self.workflows.settled[token])

    def _next(self, name, about, moved):
        following = moved["next"]
        if following in _WAITS:
            self._wait(name, about, following)
        elif following == "soak":
            self.ports.clock.advance(moved["soak"])
            self._next(name, about, end_soak(self.ports, EndSoak(**about)).model_dump())
        else:
            self.machines[name] = ""
            if following == "promote":
                promote_entry(self.ports, PromoteEntry(**about))

    def _wait(self, name, about, stage):
        self.tokens += 1
        token = self.machines[name] = f"token-{self.tokens}"
        self.stage[name] = stage
        self.workflows.waiting.add(token)
        at = self.ports.clock.now()
        wait_in_promotion(self.ports, WaitInPromotion(**about, stage=stage, token=token, entered=at))

    def stall(self, entry):
        stall_promotion(self.ports, StallPromotion(repository=REPOSITORY, entry=entry.id, entry_attempt=entry.attempt))

    def is_ended(self, entry):
        return self.promotion(entry).stage is Stage.ENDED


_FILES = {
    ("shop", "staging"): "staging.json",
    ("shop", "internal"): "internal.json",
    ("shop", "production"): "production.json",
    ("blog", "test"): "blog-test.json",
    ("blog", "live"): "blog.json",
}

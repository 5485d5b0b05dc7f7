"""What the checker demands of a config repository: it is judged from its branches and trailers, and what CI reported.

It knows nothing of Tidegate's code.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from soak.violation import Violation

MAIN, AUTO = "main", "auto"
#: Whose reports of the required check count.
CI = "github-actions"
#: How an entry ends.
_ENDS = frozenset({"landed", "evicted", "superseded", "noop", "failed"})
_NEW_IMAGES = "new images published"
_NAME = re.compile(r"[A-Za-z0-9_.\[\]-]{1,110}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
#: The trailers of Tidegate's commits.
_FORMS = {
    "Autocommit-Id": re.compile(r"[0-9a-v]{26}"),
    "Autocommit-App-SHA": _COMMIT,
    "Autocommit-Sequence": re.compile(r"[0-9]{1,18}"),
    "Autocommit-Set": _NAME,
    "Autocommit-Target": _NAME,
    "Autocommit-Source-Config-SHA": _COMMIT,
    "Autocommit-Reason": re.compile("new images published|promotion|rollback"),
    "Autocommit-Actor": _NAME,
}
_REQUIRED = ("Autocommit-Id", "Autocommit-Set", "Autocommit-Target", "Autocommit-Reason")
ID, REASON, SEQUENCE = "Autocommit-Id", "Autocommit-Reason", "Autocommit-Sequence"


@dataclass(frozen=True, slots=True)
class ConfigCommit:
    """A commit: its first parent, whether it is Tidegate's by its author, its message, what each environment's image
    file holds, and whether all that is generated is as the generator makes it (None if nobody looked).
    """

    sha: str
    parent: str
    ours: bool
    message: str
    files: Mapping[str, str]
    fresh: bool | None = None

    @property
    def trailers(self) -> dict[str, str]:
        """The trailers of Tidegate's commit; none of others."""
        lines = self.message.rstrip().rpartition("\n\n")[2].splitlines() if self.ours else []
        return {name: value for name, _, value in (line.partition(": ") for line in lines)}


@dataclass(frozen=True, slots=True)
class BranchHead:
    """Where a branch was seen."""

    at: float
    branch: str
    sha: str


@dataclass(frozen=True, slots=True)
class Reported:
    """What an App said of the required check of a commit."""

    at: float
    sha: str
    conclusion: str
    app: str = CI


@dataclass(frozen=True, slots=True)
class Accepted:
    """An announcement that was accepted, from when on, and what became of it. ``guilty``: its build breaks checks."""

    at: float
    entry: str
    guilty: bool
    state: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """From when until when the image set was held for sure."""

    since: float
    until: float


@dataclass(frozen=True, slots=True)
class ConfigHistory:
    """What happened to a config repository, as anybody could have seen it, with heads of branches in their order.

    ``chain`` are its environments. ``dismissed`` are entries that a person wanted out of the queue; ``by_hand`` counts
    what people pushed to the default branch.
    """

    repository: str = ""
    chain: tuple[str, ...] = ()
    commits: Mapping[str, ConfigCommit] = field(default_factory=dict)
    heads: tuple[BranchHead, ...] = ()
    reports: tuple[Reported, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    held: tuple[Held, ...] = ()
    dismissed: tuple[str, ...] = ()
    by_hand: int = 0

    def line(self, sha: str) -> list[ConfigCommit]:
        """Return the commits that a commit contains, from the first one."""
        found = []
        while sha in self.commits:
            found.append(self.commits[sha])
            sha = self.commits[sha].parent
        return found[::-1]

    def of(self, branch: str) -> list[BranchHead]:
        """Return where a branch was seen."""
        return [head for head in self.heads if head.branch == branch]

    def to_json(self) -> str:
        """Return the history as JSON, to be looked at again."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @property
    def main(self) -> list[ConfigCommit]:
        """All commits of the default branch as it was seen last."""
        heads = self.of(MAIN)
        return self.line(heads[-1].sha) if heads else []


Rule = Callable[[ConfigHistory], Iterator[Violation]]


def check_updates(history: ConfigHistory) -> list[Violation]:
    """Return every violation of every rule."""
    return [violation for rule in (*AT_ANY_TIME, *AT_THE_END) for violation in rule(history)]


def broken_updates(history: ConfigHistory) -> list[Violation]:
    """Return the violations of what may never be so, also while everything is in progress."""
    return [violation for rule in AT_ANY_TIME for violation in rule(history)]


def moves_forward(history: ConfigHistory) -> Iterator[Violation]:
    """The default branch only ever moves to a commit that contains where it was."""
    for before, after in pairwise(history.of(MAIN)):
        if before.sha not in {each.sha for each in history.line(after.sha)}:
            yield _broken(history, "the default branch moves forward", after.sha, f"it came from {before.sha[:10]}")


def lands_what_passed(history: ConfigHistory) -> Iterator[Violation]:
    """Where Tidegate moved the default branch, that very commit had passed before, by the App that counts."""
    passed = [each for each in history.reports if each.conclusion == "success" and each.app == CI]
    for head in history.of(MAIN):
        if not history.commits[head.sha].ours:
            continue
        if not any(each.sha == head.sha and each.at <= head.at for each in passed):
            yield _broken(history, "what lands has passed", head.sha, "it was on the default branch without a pass")
    tested, covered = {each.sha for each in passed}, False
    for commit in reversed(history.main):
        covered = covered or commit.sha in tested
        if commit.ours and not covered:
            yield _broken(history, "what lands has passed", commit.sha, "neither it nor one above it has passed")


def trailers_are_valid(history: ConfigHistory) -> Iterator[Violation]:
    """Every commit of Tidegate's says who it is, in the documented form, and an entry lands once."""
    rule, seen = "trailers are valid", dict[str, str]()
    for commit in history.commits.values():
        found = commit.trailers
        if not commit.ours:
            continue
        for name in _REQUIRED:
            if name not in found:
                yield _broken(history, rule, commit.sha, f"it has no {name}")
        for name, value in found.items():
            if name not in _FORMS or not _FORMS[name].fullmatch(value):
                yield _broken(history, rule, commit.sha, f"{name} is {value[:80]!r}")
    for commit in history.main:
        entry = commit.trailers.get(ID, "")
        if entry and entry in seen:
            yield _broken(history, rule, commit.sha, f"{entry} landed before as {seen[entry][:10]}")
        if entry:
            seen[entry] = commit.sha


def is_generated(history: ConfigHistory) -> Iterator[Violation]:
    """At each head of both branches, what is generated is as the generator makes it."""
    for sha in dict.fromkeys(head.sha for head in history.heads):
        if history.commits[sha].fresh is False:
            yield _broken(history, "what is generated is current", sha, "generating it again changes files")


def promotes_in_order(history: ConfigHistory) -> Iterator[Violation]:
    """What an environment has, the one before it had at an earlier commit; what was there at first is exempt."""
    for first, second in pairwise(history.chain):
        had: set[str] = set()
        begun = history.main[0].files.get(second, "") if history.main else ""
        for commit in history.main:
            found = commit.files.get(second, "")
            if found not in had | {begun}:
                what = f"{second} has an image set that {first} never had before"
                yield _broken(history, "promotions keep their order", commit.sha, what)
            had.add(commit.files.get(first, ""))


def never_goes_back(history: ConfigHistory) -> Iterator[Violation]:
    """An announced image set never replaces a newer one, unless a person went back in between."""
    newest = 0
    for before, commit in pairwise(history.main):
        found = commit.trailers
        if commit.files.get(history.chain[0]) == before.files.get(history.chain[0]):
            continue
        if found.get(REASON) != _NEW_IMAGES:
            newest = 0
            continue
        sequence = int(found.get(SEQUENCE, "0"))
        if sequence < newest:
            yield _broken(history, "never backwards", commit.sha, f"sequence {sequence} landed after {newest}")
        newest = sequence


def holds_hold(history: ConfigHistory) -> Iterator[Violation]:
    """What is announced while its image set is held lands only after its release."""
    for held in history.held:
        late = {each.entry for each in history.accepted if held.since <= each.at <= held.until}
        for head in history.of(MAIN):
            if head.at > held.until:
                break
            for commit in history.line(head.sha):
                if commit.trailers.get(ID) in late:
                    yield _broken(history, "a hold holds", commit.sha, "it landed while its image set was held")


def nothing_is_lost(history: ConfigHistory) -> Iterator[Violation]:
    """Every accepted announcement ended, and those that landed are on the default branch."""
    rule, there = "updates: nothing is lost", {commit.trailers.get(ID) for commit in history.main}
    for each in history.accepted:
        if each.state not in _ENDS:
            yield Violation(rule, history.repository, f"{each.entry} is {each.state or 'unknown'}: {each.reason}")
        elif (each.state == "landed") != (each.entry in there):
            where = "is on the default branch" if each.entry in there else "is not on the default branch"
            yield Violation(rule, history.repository, f"{each.entry} is {each.state}, and {where}")


def innocents_stay(history: ConfigHistory) -> Iterator[Violation]:
    """An image set that breaks nothing is not evicted for what another one broke, nor because CI cancelled a run."""
    for each in history.accepted:
        if each.state == "evicted" and not each.guilty and each.entry not in history.dismissed:
            what = f"{each.entry} broke nothing, and was evicted: {each.reason}"
            yield Violation("updates: innocents stay", history.repository, what)


AT_ANY_TIME: tuple[Rule, ...] = (
    moves_forward,
    lands_what_passed,
    trailers_are_valid,
    is_generated,
    promotes_in_order,
    never_goes_back,
    holds_hold,
)
AT_THE_END: tuple[Rule, ...] = (nothing_is_lost, innocents_stay)


def _broken(history: ConfigHistory, rule: str, sha: str, what: str) -> Violation:
    return Violation(f"updates: {rule}", history.repository, what, sha)


def landed(history: ConfigHistory, reason: str) -> int:
    """Count commits of Tidegate's on the default branch that exist for a reason."""
    return sum(commit.trailers.get(REASON) == reason for commit in history.main)


def made_anew(history: ConfigHistory) -> int:
    """Count entries of which there was more than one commit."""
    commits: dict[str, set[str]] = {}
    for head in history.of(AUTO):
        for commit in history.line(head.sha):
            commits.setdefault(commit.trailers.get(ID, ""), set()).add(commit.sha)
    return sum(len(found) > 1 for entry, found in commits.items() if entry)


def covered(history: ConfigHistory) -> int:
    """Count commits on the default branch that had failed themselves."""
    failed = {each.sha for each in history.reports if each.conclusion == "failure" and each.app == CI}
    return sum(commit.sha in failed for commit in history.main)

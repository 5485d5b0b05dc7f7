"""A forge in memory. What tests set and read is public: ``forge.comparisons``, ``forge.pull_requests`` …"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidegate.ports import Change, FailedDelivery
from tidegate.rules.errors import ForgeRefused, NotFound, TidegateError
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.check_run import CheckRun
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.headline import Headline
from tidegate.vcs.rules.pull_request import MergeMethod, PullRequest, PullRequestReview, ReviewVerdict, SeenPullRequest


@dataclass(slots=True)
class MemoryForge:
    """The port ``Forge``.

    ``comparisons`` is keyed by (base, head); what is not in it is ``comparison``. ``writers`` may write,
    ``readers`` read. ``branches`` are the commits that branches are at, ``main`` the default branch;
    ``changes`` is keyed by (base, head), ``came_with`` (the numbers of a commit's pull requests), ``made_by`` (who
    made all that it has) and ``headlines`` by commit.
    ``seen`` are pull requests by number, as records hold them; ``comments`` are those that were written (pull
    request, text): the first has the id 1; of these ``foreign`` ones are others', ``deleted`` ones are gone, and
    ``edits`` are the ids of those that were updated, in order. ``reactions`` are pairs of a comment and a reaction,
    ``teams`` the members by ``org/slug``, ``roles`` what people may do who are neither writers nor readers.
    ``dismissed`` are triples of a pull request, a review and a reason; ``undismissable`` is raised in their place.
    ``people_asked`` are those whose permission was asked for, ``teams_asked`` whose membership in which team.
    ``merges`` are pull requests that were merged, each with its head and how; ``unmergeable`` refuses to.
    ``failures`` are raised by the next calls to the API, one each; ``silence`` by every comment and reaction.
    """

    comparison: Comparison = Comparison.AHEAD
    comparisons: dict[tuple[str, str], Comparison] = field(default_factory=dict)
    compared: list[tuple[str, str]] = field(default_factory=list)
    writers: set[str] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    updates: list[tuple[int, CheckRun]] = field(default_factory=list)
    failures: list[TidegateError] = field(default_factory=list)
    silence: TidegateError | None = None
    branches: dict[str, str] = field(default_factory=dict)
    main: str = "main"
    changes: dict[tuple[str, str], Change] = field(default_factory=dict)
    made_by: dict[str, Authors] = field(default_factory=dict)
    headlines: dict[str, Headline] = field(default_factory=dict)
    came_with: dict[str, tuple[int, ...]] = field(default_factory=dict)
    pull_requests: dict[int, PullRequest] = field(default_factory=dict)
    seen: dict[int, SeenPullRequest] = field(default_factory=dict)
    reviewed: dict[int, list[PullRequestReview]] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)
    foreign: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    edits: list[int] = field(default_factory=list)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    teams: dict[str, set[str]] = field(default_factory=dict)
    roles: dict[str, Permission] = field(default_factory=dict)
    merges: list[tuple[int, str, str]] = field(default_factory=list)
    unmergeable: ForgeRefused | None = None
    dismissed: list[tuple[int, int, str]] = field(default_factory=list)
    undismissable: TidegateError | None = None
    people_asked: list[str] = field(default_factory=list)
    teams_asked: list[tuple[str, str]] = field(default_factory=list)

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        self._called(repository)
        self.compared.append((base, head))
        return self.comparisons.get((base, head), self.comparison)

    def change(self, repository: str, base: str, head: str) -> Change:
        self._called(repository)
        if (base, head) not in self.changes:
            raise NotFound("common commit of", f"{base} and {head}")
        return self.changes[base, head]

    def authors(self, repository: str, head: str) -> Authors:
        self._called(repository)
        if head not in self.made_by:
            raise NotFound("commit", head)
        return self.made_by[head]

    def headline(self, repository: str, sha: str) -> Headline:
        self._called(repository)
        if sha not in self.headlines:
            raise NotFound("commit", sha)
        return self.headlines[sha]

    def permission(self, repository: str, user: str) -> Permission:
        self._called(repository)
        self.people_asked.append(user)
        if user in self.roles:
            return self.roles[user]
        if user in self.writers:
            return Permission.WRITE
        return Permission.READ if user in self.readers else Permission.NONE

    def branch_head(self, repository: str, branch: str) -> str:
        self._called(repository)
        if branch not in self.branches:
            raise NotFound("branch", branch)
        return self.branches[branch]

    def default_branch(self, repository: str) -> str:
        self._called(repository)
        return self.main

    def pull_request(self, repository: str, number: int) -> PullRequest:
        self._called(repository)
        if number not in self.pull_requests:
            raise NotFound("pull request", str(number))
        return self.pull_requests[number]

    def seen_pull_request(self, repository: str, number: int) -> SeenPullRequest:
        self._called(repository)
        if number not in self.seen:
            raise NotFound("pull request", str(number))
        return self.seen[number]

    def open_pull_requests(self, repository: str) -> Sequence[SeenPullRequest]:
        self._called(repository)
        return [self.seen[number] for number in sorted(self.seen) if self.seen[number].is_open]

    def merge_pull_request(self, repository: str, number: int, sha: str, method: MergeMethod) -> None:
        self._called(repository)
        if self.unmergeable is not None:
            raise self.unmergeable
        if not self.seen[number].is_open or self.seen[number].spec.head_sha != sha:
            raise ForgeRefused(409, "Head branch was modified. Review and try the merge again.")
        self.merges.append((number, sha, method))
        self.seen[number] = replace(self.seen[number], is_open=False, merged=True)

    def pull_requests_of(self, repository: str, sha: str) -> Sequence[SeenPullRequest]:
        self._called(repository)
        if sha not in self.came_with:
            raise NotFound("commit", sha)
        return [self.seen[number] for number in self.came_with[sha]]

    def reviews(self, repository: str, number: int) -> Sequence[PullRequestReview]:
        self._called(repository)
        return self.reviewed.get(number, [])

    def dismiss_review(self, repository: str, number: int, review: int, reason: str) -> None:
        self._called(repository)
        if self.undismissable:
            raise self.undismissable
        self.dismissed.append((number, review, reason))
        known = self.reviewed.get(number, [])
        self.reviewed[number] = [
            replace(each, verdict=ReviewVerdict.DISMISSED) if each.id == review else each for each in known
        ]

    def comment(self, repository: str, number: int, text: str) -> int:
        self._called(repository)
        self._spoken()
        self.comments.append((number, text))
        return len(self.comments)

    def update_comment(self, repository: str, number: int, comment: int, text: str) -> None:
        self._called(repository)
        if comment in self.deleted or comment > len(self.comments) or self.comments[comment - 1][0] != number:
            raise NotFound("comment", str(comment))
        self.comments[comment - 1] = (self.comments[comment - 1][0], text)
        self.edits.append(comment)

    def our_comments(self, repository: str, number: int, marker: str) -> Mapping[int, str]:
        self._called(repository)
        return {
            comment: text
            for comment, (where, text) in enumerate(self.comments, 1)
            if where == number and text.startswith(marker) and comment not in self.foreign | self.deleted
        }

    def react(self, repository: str, number: int, comment: int, reaction: str) -> None:
        self._called(repository)
        self._spoken()
        self.reactions.append((comment, reaction))

    def is_team_member(self, repository: str, team: str, user: str) -> bool:
        self._called(repository)
        organization = repository.partition("/")[0]
        self.teams_asked.append((f"{organization}/{team}", user))
        return user in self.teams.get(f"{organization}/{team}", ())

    def create_check_run(self, repository: str, check_run: CheckRun) -> int:
        self._called(repository)
        identifier = len(self.check_runs) + 1
        self.check_runs[identifier] = check_run
        return identifier

    def update_check_run(self, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        self._called(repository)
        if check_run_id not in self.check_runs:
            raise NotFound("check run", str(check_run_id))
        self.check_runs[check_run_id] = check_run
        self.updates.append((check_run_id, check_run))

    def find_check_run(self, repository: str, sha: str, external_id: str) -> int | None:
        found = self.commit_check_runs(repository, sha)
        return max((number for number, other in found.items() if other == external_id), default=None)

    def commit_check_runs(self, repository: str, sha: str) -> Mapping[int, str]:
        self._called(repository)
        every = self.check_runs.items()
        return {number: check_run.external_id for number, check_run in every if check_run.sha == sha}

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        return f"https://github.com/{repository}/runs/{check_run_id}"

    def pull_request_checks_url(self, repository: str, number: int) -> str:
        return f"https://github.com/{repository}/pull/{number}/checks"

    def pull_request_url(self, repository: str, number: int) -> str:
        return f"https://github.com/{repository}/pull/{number}"

    def pull_request_ref(self, number: int) -> str:
        return f"refs/pull/{number}/head"

    def issue_url(self, repository: str, number: int) -> str:
        return f"https://github.com/{repository}/issues/{number}"

    def commit_url(self, repository: str, sha: str) -> str:
        return f"https://github.com/{repository}/commit/{sha}"

    def clone_url(self, repository: str) -> str:
        return f"https://github.com/{repository}.git"

    def picture_origin(self) -> str:
        return "https://avatars.githubusercontent.com"

    def clone_token(self, repository: str, others: Collection[str] = ()) -> str:
        self._called(repository)
        return f"clone-token-of-{'-and-'.join((repository, *others))}"

    def _spoken(self) -> None:
        if self.silence is not None:
            raise self.silence

    def _called(self, _repository: str) -> None:
        if self.failures:
            raise self.failures.pop(0)


@dataclass(slots=True)
class MemoryForgeDeliveries:
    """The port ``ForgeDeliveries``: ``failures`` are the failed ones, ``redelivered`` what was asked for."""

    failures: list[FailedDelivery] = field(default_factory=list)
    redelivered: list[int] = field(default_factory=list)

    def failed(self, since: datetime) -> Sequence[FailedDelivery]:
        return [each for each in self.failures if each.at >= since]

    def redeliver(self, delivery: int) -> None:
        self.redelivered.append(delivery)

"""The list of repositories, one repository, one commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from tidegate_local.forge import checks, clock, forks
from tidegate_local.forge.git import Commit, GitRefused
from tidegate_local.forge.pages.rendering import is_settled
from tidegate_local.forge.pages.visit import Visit
from tidegate_local.forge.records import CheckRun, PullRequest, Repository
from tidegate_local.forge.refusals import not_found

_COMMITS = 25
_FILES = 300
#: For so long after a commit its page looks for check runs that may appear, in seconds.
_EXPECTANT = 600


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """A commit with the newest run of each of its checks."""

    commit: Commit
    runs: list[CheckRun]

    @property
    def may_change(self) -> bool:
        """Whether something may still happen to its checks."""
        age = (datetime.now(UTC) - clock.read(self.commit.committer.date)).total_seconds()
        return not all(map(is_settled, self.runs)) or (not self.runs and age < _EXPECTANT)

    @property
    def failed(self) -> int:
        """How many of its checks failed. What waits for somebody did not, though it is run again with the others."""
        return sum(run.conclusion in checks.FAILED - {"action_required"} for run in self.runs)


def shown(visit: Visit, commit: Commit) -> ShownCommit:
    """Return a commit with its checks, by name."""
    runs = checks.latest(checks.runs_of(visit.hosting, visit.repository, commit.sha))
    return ShownCommit(commit, sorted(runs, key=lambda run: run.name))


def index(visit: Visit) -> Response:
    """Show all repositories."""
    found = []
    for repository in visit.hosting.repositories():
        if visit.permission(repository) == "none":
            continue
        head = visit.hosting.git(repository).branches().get(repository.default_branch)
        newest = visit.hosting.git(repository).commit(head) if head else None
        runs = checks.latest(checks.runs_of(visit.hosting, repository, head)) if head else []
        pulls = len(visit.hosting.store.find(PullRequest, repository.repository, state="open"))
        found.append({"repository": repository, "newest": newest, "runs": runs, "pulls": pulls})
    return visit.show("index.html", found=found, live=True)


def repository(visit: Visit) -> Response:
    """Show a repository: branches, newest commits, open pull requests."""
    one, branches = visit.repository, visit.git.branches()
    branch = visit.path.get("branch", one.default_branch)
    if branch not in branches and "branch" in visit.path:
        raise not_found()
    commits = (
        [shown(visit, commit) for commit in visit.git.log(branches[branch], _COMMITS)] if branch in branches else []
    )
    pulls = visit.hosting.store.find(PullRequest, one.repository, state="open")[::-1]
    return visit.show(
        "repository.html",
        repository=one,
        branch=branch,
        branches=sorted(branches),
        commits=commits,
        pulls=pulls,
        ahead={name: _upstream(one, name) for name in _ahead(visit, branches)},
        may_fork=one.owner != visit.person.login,
        live=True,
    )


def _ahead(visit: Visit, branches: dict[str, str]) -> list[str]:
    """Return the branches with commits that no default branch, no open pull request and no repository above has."""
    one = visit.repository
    above = visit.hosting.repository(one.fork_of) if one.fork_of else None
    known = set(visit.hosting.git(above).branches().values()) if above else set()
    base = branches.get(one.default_branch)
    found = visit.hosting.store.find(PullRequest, state="open")
    offered = {pull.head_ref for pull in found if pull.head_repository == one.repository}
    others = sorted(branches.keys() - {one.default_branch} - offered)
    news = [name for name in others if branches[name] not in known]
    return [name for name in news if base and not visit.git.is_ancestor(branches[name], base)]


def _upstream(one: Repository, branch: str) -> str:
    """Return where a branch is compared: in a fork with the repository that it was forked from."""
    head = f"{one.owner}:{branch}" if one.fork_of else branch
    return f"/{one.fork_of or one.repository}/compare/{one.default_branch}...{quote(head, safe=':')}"


def fork(visit: Visit) -> Response:
    """Fork the repository into the visitor's own account."""
    visit.form()
    made = forks.fork(visit.hosting, visit.repository, visit.person.login)
    return redirect(visit.hosting.urls.page(made.repository), 303)


def commit(visit: Visit) -> Response:
    """Show a commit: message, checks, changed files."""
    try:
        one = visit.git.commit(visit.git.resolve(visit.path["sha"]))
    except GitRefused:
        raise not_found() from None
    before = one.parents[0] if one.parents else visit.git.empty_tree()
    return visit.show(
        "commit.html",
        repository=visit.repository,
        shown=shown(visit, one),
        **changes(visit, before, one.sha),
        sent=_sent(visit.request.args.get("clicked", "")),
        live=True,
    )


def changes(visit: Visit, before: str, after: str) -> dict[str, Any]:
    """Return what pages show of the files that differ between two commits."""
    files, patches = visit.git.changed_files(before, after), visit.git.patches(before, after)
    return {"files": files[:_FILES], "left_out": max(0, len(files) - _FILES), "patches": patches}


def _sent(clicked: str) -> str:
    """Return in words what a button of the page sent."""
    if clicked == "all":
        return "Requested a rerun of all checks of this commit."
    kind, _, count = clicked.partition("-")
    if kind != "failed" or not count.isdecimal():
        return ""
    checks_ = "one failed check" if count == "1" else f"{count} failed checks"
    return f"Requested a rerun of {checks_}."

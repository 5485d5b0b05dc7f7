"""Pull requests: the list, one, a new one, merging."""

from __future__ import annotations

from werkzeug.wrappers import Response

from local.forge import clock, merging, pull_shapes, pulls
from local.forge.git import GitRefused
from local.forge.pages.repository_pages import shown
from local.forge.pages.visit import Visit
from local.forge.records import Comment, PullRequest
from local.forge.refusals import Refusal, not_found

_FILES = 300


def index(visit: Visit) -> Response:
    """List pull requests, open ones unless ``?state=closed``."""
    state = visit.request.args.get("state", "open")
    found = visit.hosting.store.find(PullRequest, visit.repository.repository)
    counts = {name: sum(one.state == name for one in found) for name in ("open", "closed")}
    chosen = [one for one in found if one.state == state][::-1]
    return visit.show("pulls.html", repository=visit.repository, pulls=chosen, counts=counts, state=state, live=True)


def compare(visit: Visit) -> Response:
    """Show what a branch would bring, with the form that opens a pull request."""
    base, dots, head = visit.path["basehead"].partition("...")
    try:
        ends = visit.git.resolve(base), visit.git.resolve(head)
        which = visit.git.compare(*ends)
    except GitRefused:
        raise not_found() from None
    if not dots:
        raise not_found()
    commits = [shown(visit, one) for one in visit.git.log(f"{which.merge_base}..{which.head}", 100)]
    files = visit.git.changed_files(which.merge_base, which.head)
    branches = visit.git.branches()
    return visit.show(
        "compare.html",
        repository=visit.repository,
        base=base,
        head=head,
        commits=commits,
        files=files[:_FILES],
        left_out=max(0, len(files) - _FILES),
        patches=visit.git.patches(which.merge_base, which.head),
        can_open=base in branches and head in branches and bool(commits) and visit.writes,
    )


def create(visit: Visit) -> Response:
    """Open a pull request."""
    form = visit.form()
    _may_write(visit)
    title, head, base = (form.get(field, "") for field in ("title", "head", "base"))
    pull = pulls.open_one(
        visit.hosting, visit.repository, visit.person.login, title or head, head, base, form.get("body") or None
    )
    return visit.go("pull", pull.number)


def _may_write(visit: Visit) -> None:
    if not visit.writes:
        raise Refusal(403, f"{visit.person.login} may only read this repository. Switch to another user at the top.")


def _pull(visit: Visit) -> PullRequest:
    pull = pulls.by_number(visit.hosting, visit.repository, visit.path["number"])
    if pull is None:
        raise not_found()
    return pull


def one(visit: Visit) -> Response:
    """Show a pull request: description, comments, checks, files, the merge button."""
    pull, git = _pull(visit), visit.git
    merge_base = pulls.merge_base(git, pull)
    files = git.changed_files(merge_base, pull.head_sha)
    return visit.show(
        "pull.html",
        repository=visit.repository,
        pull=pull,
        shown=shown(visit, git.commit(pull.head_sha)),
        commits=[shown(visit, commit) for commit in git.log(f"{merge_base}..{pull.head_sha}", 100)],
        files=files[:_FILES],
        left_out=max(0, len(files) - _FILES),
        patches=git.patches(merge_base, pull.head_sha),
        comments=visit.hosting.store.find(Comment, pull.repository, number=pull.number),
        may_write=visit.writes,
        mergeable=pull.state == "open" and pulls.is_mergeable(visit.hosting, visit.repository, pull),
        live=True,
    )


def merge(visit: Visit) -> Response:
    """Merge a pull request by the chosen method."""
    form, pull = visit.form(), _pull(visit)
    _may_write(visit)
    request = {"merge_method": form.get("method", "merge"), "sha": form.get("sha") or None}
    merging.merge(visit.hosting, visit.repository, pull, visit.person.login, request)
    return visit.go("pull", pull.number)


def comment(visit: Visit) -> Response:
    """Comment on a pull request; everybody who sees it may."""
    form, pull, time = visit.form(), _pull(visit), clock.now()
    text = form.get("body", "").strip()
    if text:
        made = visit.hosting.store.add(
            lambda fresh: Comment(fresh, pull.repository, pull.number, visit.person.login, text, time, time)
        )
        shapes = {
            "issue": pull_shapes.issue(visit.hosting, visit.repository, pull),
            "comment": pull_shapes.comment(visit.hosting, made),
        }
        visit.hosting.tell("issue_comment", visit.repository, visit.person.login, {"action": "created", **shapes})
    return visit.go("pull", pull.number)

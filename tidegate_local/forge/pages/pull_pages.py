"""Pull requests: the list, one, a new one, comments, reviews, merging."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from werkzeug.wrappers import Response

from tidegate_local.forge import comments, forks, merge_queue, merging, protections, pulls, reviews
from tidegate_local.forge.comments import Author
from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.pages.repository_pages import changes, shown
from tidegate_local.forge.pages.visit import Visit
from tidegate_local.forge.records import Comment, PullRequest, Reaction
from tidegate_local.forge.refusals import Refusal, not_found

_EMOJI = dict(zip(comments.REACTIONS, "👍👎😄😕❤🎉🚀👀", strict=True))


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
        ends = tuple(forks.resolve(visit.hosting, visit.repository, name) for name in (base, head))
        which = visit.git.compare(*ends)
    except GitRefused:
        raise not_found() from None
    if not dots:
        raise not_found()
    commits = [shown(visit, one) for one in visit.git.log(f"{which.merge_base}..{which.head}", 100)]
    source = forks.head(visit.hosting, visit.repository, head)
    may_offer = source is not None and visit.permission(source.repository) in {"write", "admin"}
    return visit.show(
        "compare.html",
        repository=visit.repository,
        base=base,
        head=head,
        commits=commits,
        **changes(visit, which.merge_base, which.head),
        can_open=base in visit.git.branches() and bool(commits) and may_offer,
    )


def create(visit: Visit) -> Response:
    """Open a pull request."""
    form = visit.form()
    title, head, base = (form.get(field, "") for field in ("title", "head", "base"))
    body, draft = form.get("body") or None, form.get("draft") == "yes"
    request = {"title": title or head, "head": head, "base": base, "body": body, "draft": draft}
    pull = pulls.open_one(visit.hosting, visit.repository, visit.person.login, request)
    return visit.go("pull", pull.number)


def _may_write(visit: Visit) -> None:
    if not visit.writes:
        raise Refusal(
            403, f"{visit.person.login} has only read permission on this repository. Switch to another user at the top."
        )


def _pull(visit: Visit) -> PullRequest:
    pull = pulls.by_number(visit.hosting, visit.repository, visit.path["number"])
    if pull is None:
        raise not_found()
    return pull


def one(visit: Visit) -> Response:
    """Show a pull request: description, comments, checks, files, the merge button."""
    pull, git = _pull(visit), visit.git
    merge_base = pulls.merge_base(git, pull)
    return visit.show(
        "pull.html",
        repository=visit.repository,
        pull=pull,
        shown=shown(visit, git.commit(pull.head_sha)),
        commits=[shown(visit, commit) for commit in git.log(f"{merge_base}..{pull.head_sha}", 100)],
        **changes(visit, merge_base, pull.head_sha),
        talk=_talk(visit, pull),
        verdicts=reviews.verdicts(visit.hosting, visit.repository, pull),
        missing=protections.missing(visit.hosting, visit.repository, pull) if pull.state == "open" else [],
        may_write=visit.writes,
        own=pull.user == visit.person.login,
        mergeable=pull.state == "open" and pulls.is_mergeable(visit.hosting, visit.repository, pull),
        live=True,
    )


@dataclass(frozen=True, slots=True)
class Said:
    """A comment or a review, as the page of a pull request shows it."""

    id: int
    user: str
    body: str
    at: str
    verdict: str = ""
    edited: bool = False
    reactions: tuple[tuple[str, int], ...] = ()

    @property
    def anchor(self) -> str:
        return f"{'pullrequestreview' if self.verdict else 'issuecomment'}-{self.id}"


def _talk(visit: Visit, pull: PullRequest) -> list[Said]:
    """Return comments and reviews, oldest first."""
    said = [_comment_said(visit, one) for one in comments.of(visit.hosting, pull)]
    written = reviews.of(visit.hosting, pull)
    said += [Said(one.id, one.user, one.body, one.submitted_at, one.state.lower()) for one in written]
    return sorted(said, key=lambda one: (one.at, one.id))


def _comment_said(visit: Visit, one: Comment) -> Said:
    counts = Counter(found.content for found in visit.hosting.store.find(Reaction, one.repository, comment=one.id))
    shown = tuple((_EMOJI[content], count) for content, count in counts.items())
    return Said(one.id, one.user, one.body, one.created_at, "", one.updated_at != one.created_at, shown)


def merge(visit: Visit) -> Response:
    """Merge a pull request by the chosen method."""
    form, pull = visit.form(), _pull(visit)
    _may_write(visit)
    request = {"merge_method": form.get("method", "merge"), "sha": form.get("sha") or None}
    merging.merge(visit.hosting, visit.repository, pull, visit.person.login, request)
    return visit.go("pull", pull.number)


def comment(visit: Visit) -> Response:
    """Comment on a pull request; everybody who sees it may."""
    form, pull = visit.form(), _pull(visit)
    comments.create(visit.hosting, visit.repository, pull, Author(visit.person.login), form.get("body"))
    return visit.go("pull", pull.number)


def review(visit: Visit) -> Response:
    """Review a pull request; everybody who sees it may, and the verdicts of those who may write count."""
    form, pull = visit.form(), _pull(visit)
    request = {"event": form.get("event", ""), "body": form.get("body")}
    reviews.create(visit.hosting, visit.repository, pull, visit.person.login, request)
    return visit.go("pull", pull.number)


def close(visit: Visit) -> Response:
    """Close, reopen, offer for review, make a draft, or queue a pull request; its author may, and who may write."""
    what, pull = visit.form().get("do"), _pull(visit)
    where = visit.hosting, visit.repository, pull
    if pull.user != visit.person.login or what == "queue":
        _may_write(visit)
    if what == "queue":
        merge_queue.enqueue(*where, visit.person.login)
    elif what in {"ready", "draft"}:
        pulls.set_draft(*where, visit.person.login, draft=what == "draft")
    else:
        pulls.edit(*where, {"state": "open" if what == "reopen" else "closed"}, visit.person.login)
    return visit.go("pull", pull.number)

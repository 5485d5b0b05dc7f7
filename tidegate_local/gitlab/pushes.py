"""What follows a push: webhooks, and merge requests brought up to date."""

from __future__ import annotations

from tidegate_local.forge.git import NO_COMMIT, Commit, GitRefused
from tidegate_local.gitlab import clock, following, shapes, webhooks
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Project, PushEvent, User
from tidegate_local.gitlab.refusals import forbidden, message
from tidegate_local.gitlab.shapes import Json

#: GitLab names at most this many commits in a push, and tells nothing of pushes that move more branches.
MAXIMUM_COMMITS, MAXIMUM_REFS = 20, 3
_HEADS = "refs/heads/"


def changed(hosting: Hosting, project: Project, before: dict[str, str], after: dict[str, str], who: User) -> None:
    """Tell what a push changed: ``before`` and ``after`` are full ref name → SHA."""
    moved = sorted(ref for ref in before.keys() | after.keys() if before.get(ref) != after.get(ref))
    if not moved:
        return
    time = clock.now()
    project = hosting.settled(project, before, after, last_activity_at=time)
    refs = [ref for ref in moved if ref.startswith(_HEADS)]
    _remember(hosting, project, {ref: (before.get(ref), after.get(ref)) for ref in refs}, who, time)
    for ref in refs:
        ends = before.get(ref, NO_COMMIT), after.get(ref, NO_COMMIT)
        if len(refs) <= MAXIMUM_REFS:
            webhooks.tell(hosting, project, "Push Hook", payload(hosting, project, ref, ends, who))
        following.branch_moved(hosting, project, ref.removeprefix(_HEADS), ends, who)


def _remember(
    hosting: Hosting, project: Project, refs: dict[str, tuple[str | None, str | None]], who: User, time: str
) -> None:
    """Add a push to the project's list of what happened, before webhooks tell of it. Of many, only how many is kept."""
    many = len(refs) if len(refs) > MAXIMUM_REFS else None
    for ref, (old, new) in {None: (None, None)}.items() if many else refs.items():
        event = project.repository, who.username, ref, old, new, time, many
        hosting.store.add(lambda fresh, event=event: PushEvent(fresh, *event))  # type: ignore[misc]


def set_ref(hosting: Hosting, project: Project, ref: str, sha: str | None, who: User) -> None:
    """Make, move or (None) delete a branch or tag without a push. Raise Refusal."""
    if not hosting.may_push(who, project, ref):
        raise forbidden()
    with hosting.writing(project):
        git = hosting.git(project)
        before = git.refs()
        try:
            if sha is not None:
                git.run("cat-file", "-e", f"{sha}^{{commit}}")
            git.run("update-ref", "--end-of-options", ref, sha or NO_COMMIT)
        except GitRefused:
            raise message(400, "Invalid reference name") from None
        changed(hosting, project, before, git.refs(), who)


def payload(hosting: Hosting, project: Project, ref: str, ends: tuple[str, str], who: User) -> Json:
    """Return what a push hook carries; forty zeros stand for a ref that was not there, or is not any more."""
    commits = _new_commits(hosting, project, ref, ends)
    changes = hosting.git(project).changes_of(commits)
    return {
        "object_kind": "push",
        "event_name": "push",
        "before": ends[0],
        "after": ends[1],
        "ref": ref,
        "ref_protected": ref == hosting.protected_ref(project),
        "user_id": who.id,
        "user_name": who.name,
        "user_username": who.username,
        "project_id": project.id,
        "project": shapes.hook_project(hosting, project),
        "commits": [shapes.pushed_commit(hosting, project, one, files) for one, files in changes.values()],
    }


def _new_commits(hosting: Hosting, project: Project, ref: str, ends: tuple[str, str]) -> list[Commit]:
    """Return the newest commits that a branch gained, oldest first."""
    git, (before, after) = hosting.git(project), ends
    if after == NO_COMMIT:
        return []
    known = git.branches().get(project.default_branch) if before == NO_COMMIT else before
    if before == NO_COMMIT and ref == f"{_HEADS}{project.default_branch}":
        known = None
    return git.log(after if known is None else f"{known}..{after}", MAXIMUM_COMMITS)[::-1]

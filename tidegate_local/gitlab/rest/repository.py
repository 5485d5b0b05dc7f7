"""Branches, comparisons, merge bases and files of a project's repository."""

from __future__ import annotations

from dataclasses import replace

from werkzeug.wrappers import Response

from tidegate_local.forge.git import BareRepository, GitRefused
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import pushes, shapes
from tidegate_local.gitlab.records import Project
from tidegate_local.gitlab.refusals import message, missing, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import DEVELOPER, MAINTAINER, REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_IN = "/projects/:id/repository"
#: GitLab shows at most this many files and commits of a comparison.
MAXIMUM_FILES, MAXIMUM_COMMITS = 1000, 100


def _branch(call: Call, name: str, sha: str) -> Json:
    hosting, project = call.hosting, call.project
    git = hosting.git(project)
    default, protected = name == project.default_branch, hosting.protected_ref(project) == f"refs/heads/{name}"
    head = git.branches().get(project.default_branch)
    return {
        "name": name,
        "commit": shapes.commit(call.hosting, project, git.commit(sha)),
        "merged": not default and head is not None and git.is_ancestor(sha, head),
        "protected": protected,
        "developers_can_push": False,
        "developers_can_merge": False,
        "can_push": call.caller is not None and hosting.may_push(call.user, project, f"refs/heads/{name}"),
        "default": default,
        "web_url": call.hosting.urls.page(project.repository, "tree", name),
    }


@ROUTES.add("GET", f"{_IN}/branches", REPORTER)
def branches(call: Call) -> Response:
    """List branches; ``search`` is a part of their names."""
    part = call.request.args.get("search", "")
    found = sorted((name, sha) for name, sha in call.hosting.git(call.project).branches().items() if part in name)
    return page_of(call, found, lambda one: _branch(call, *one))


@ROUTES.add("GET", f"{_IN}/branches/:branch", REPORTER)
def branch(call: Call) -> Response:
    name = call.path["branch"]
    sha = call.hosting.git(call.project).branches().get(name)
    if sha is None:
        raise not_found("Branch")
    return answer(_branch(call, name, sha))


@ROUTES.add("POST", f"{_IN}/branches", DEVELOPER)
def create_branch(call: Call) -> Response:
    """Make a branch at ``ref``."""
    given, git = call.needed("branch", "ref"), call.hosting.git(call.project)
    name = str(given["branch"])
    if name in git.branches():
        raise message(400, "Branch already exists")
    try:
        sha = git.resolve(str(given["ref"]))
    except GitRefused:
        raise message(400, f"Invalid reference name: {given['ref']}") from None
    pushes.set_ref(call.hosting, call.project, f"refs/heads/{name}", sha, call.user)
    return answer(_branch(call, name, sha), 201)


@ROUTES.add("DELETE", f"{_IN}/branches/:branch", DEVELOPER)
def delete_branch(call: Call) -> Response:
    name = call.path["branch"]
    if name not in call.hosting.git(call.project).branches():
        raise not_found("Branch")
    if name == call.project.default_branch:
        raise message(405, "The default branch of a project cannot be deleted.")
    pushes.set_ref(call.hosting, call.project, f"refs/heads/{name}", None, call.user)
    return Response(status=204)


@ROUTES.add("DELETE", "/projects/:id/protected_branches/:branch", MAINTAINER)
def unprotect(call: Call) -> Response:
    """Let everybody who may push move the default branch, anywhere."""
    if call.path["branch"] != call.project.default_branch or not call.project.protected:
        raise not_found()
    call.hosting.store.change(Project, call.project.id, lambda old: replace(old, protected=False))
    return Response(status=204)


@ROUTES.add("GET", f"{_IN}/compare", REPORTER)
def compare(call: Call) -> Response:
    """Tell what ``to`` has that ``from`` has not; files against the merge base, or (``straight``) ``from``."""
    given, git = call.needed("from", "to"), call.hosting.git(call.project)
    try:
        base, head = (git.resolve(str(given[name])) for name in ("from", "to"))
    except GitRefused:
        raise not_found("Ref") from None
    start = base if call.flag("straight") else _start(git, base, head)
    log = git.log(f"{base}..{head}", MAXIMUM_COMMITS)[::-1]
    commits = [shapes.commit(call.hosting, call.project, one) for one in log]
    ends = f"{given['from']}...{given['to']}"
    files = shapes.diffs(call.hosting, call.project, start, head)
    return answer(
        {
            "commit": commits[-1] if commits else None,
            "commits": commits,
            "diffs": files[:MAXIMUM_FILES],
            "compare_timeout": len(files) > MAXIMUM_FILES,
            "compare_same_ref": given["from"] == given["to"],
            "web_url": call.hosting.urls.page(call.project.repository, "compare", ends),
        }
    )


def _start(git: BareRepository, base: str, head: str) -> str:
    """Return where two commits parted, or the first where they have nothing in common."""
    try:
        return git.compare(base, head).merge_base
    except GitRefused:
        return base


@ROUTES.add("GET", f"{_IN}/merge_base", REPORTER)
def merge_base(call: Call) -> Response:
    """Answer the newest commit that all ``refs[]`` have in common."""
    refs, git = call.request.args.getlist("refs[]"), call.hosting.git(call.project)
    if not refs:
        raise missing("refs")
    if len(refs) == 1:
        raise message(400, "Provide at least 2 refs")
    shas, unknown = [], []
    for ref in refs:
        try:
            shas.append(git.resolve(ref))
        except GitRefused:
            unknown.append(ref)
    if unknown:
        raise message(400, f"Could not find ref{'s' if len(unknown) > 1 else ''}: {', '.join(unknown)}")
    try:
        base = git.run("merge-base", "--octopus", *shas).strip()
    except GitRefused:
        raise not_found("Merge Base") from None
    return answer(shapes.commit(call.hosting, call.project, git.commit(base)))


@ROUTES.add("GET", f"{_IN}/files/:file/raw", REPORTER)
def raw_file(call: Call) -> Response:
    """Answer a file's content at ``ref``."""
    git = call.hosting.git(call.project)
    try:
        sha = git.resolve(call.request.args.get("ref", call.project.default_branch))
        content = git.file(sha, call.path["file"])
    except GitRefused:
        raise not_found("File") from None
    return Response(content, content_type="text/plain; charset=utf-8")

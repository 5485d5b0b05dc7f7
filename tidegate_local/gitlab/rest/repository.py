"""A project's repository: branches, commits and what they have in common, statuses of commits."""

from __future__ import annotations

from dataclasses import replace

from werkzeug.wrappers import Response

from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import jobs, merge_requests, shapes, statuses
from tidegate_local.gitlab.records import MergeRequest, Project, Status, Version
from tidegate_local.gitlab.refusals import message, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import DEVELOPER, MAINTAINER, REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_IN = "/projects/:id/repository"
_COMMITS = f"{_IN}/commits"
_MANY = 1000


def _branch(call: Call, name: str, sha: str) -> Json:
    hosting, project = call.hosting, call.project
    return {
        "name": name,
        "commit": shapes.commit(hosting, project, hosting.git(project).commit(sha)),
        "protected": hosting.protected_ref(project) == f"refs/heads/{name}",
        "default": name == project.default_branch,
    }


@ROUTES.add("GET", f"{_IN}/branches", REPORTER)
def branches(call: Call) -> Response:
    found = sorted(call.hosting.git(call.project).branches().items())
    return page_of(call, found, lambda one: _branch(call, *one))


@ROUTES.add("GET", f"{_IN}/branches/:branch", REPORTER)
def branch(call: Call) -> Response:
    name = call.path["branch"]
    sha = call.hosting.git(call.project).branches().get(name)
    if sha is None:
        raise not_found("Branch")
    return answer(_branch(call, name, sha))


@ROUTES.add("GET", f"{_IN}/compare", REPORTER)
def compare(call: Call) -> Response:
    """List the commits that ``to`` has and ``from`` has not."""
    given, git = call.needed("from", "to"), call.hosting.git(call.project)
    try:
        base, head = (git.resolve(str(given[name])) for name in ("from", "to"))
    except GitRefused:
        raise not_found("Ref") from None
    found = git.log(f"{base}..{head}", _MANY)[::-1]
    return answer({"commits": [shapes.commit(call.hosting, call.project, one) for one in found]})


@ROUTES.add("GET", f"{_IN}/merge_base", REPORTER)
def merge_base(call: Call) -> Response:
    """Answer the newest commit that both ``refs[]`` have in common."""
    git = call.hosting.git(call.project)
    try:
        shas = [git.resolve(ref) for ref in call.request.args.getlist("refs[]")]
    except GitRefused as unknown:
        raise message(400, f"Could not find ref: {str(unknown).rpartition(' ')[2]}") from None
    try:
        base = git.run("merge-base", *shas).strip()
    except GitRefused:
        raise not_found("Merge Base") from None
    return answer(shapes.commit(call.hosting, call.project, git.commit(base)))


@ROUTES.add("GET", _COMMITS, REPORTER)
def commits(call: Call) -> Response:
    """List commits of ``ref_name`` (a branch, tag or SHA), newest first."""
    git, name = call.hosting.git(call.project), call.request.args.get("ref_name", call.project.default_branch)
    try:
        found = git.log(git.resolve(name), _MANY)
    except GitRefused:
        raise not_found("Repository") from None
    return page_of(call, found, lambda one: shapes.commit(call.hosting, call.project, one))


def _sha(call: Call) -> str:
    return statuses.commit_of(call.hosting, call.project, call.path["sha"])


@ROUTES.add("GET", f"{_COMMITS}/:sha", REPORTER)
def commit(call: Call) -> Response:
    return answer(shapes.commit(call.hosting, call.project, call.hosting.git(call.project).commit(_sha(call))))


@ROUTES.add("GET", f"{_COMMITS}/:sha/merge_requests", REPORTER)
def merge_requests_of(call: Call) -> Response:
    """List the merge requests that a commit is or was part of, newest first."""
    sha = _sha(call)
    found = [one for one in merge_requests.of(call.hosting, call.project) if _has(call, one, sha)]
    return page_of(call, found[::-1], lambda one: shapes.merge_request(call.hosting, call.project, one))


def _has(call: Call, one: MergeRequest, sha: str) -> bool:
    if sha in {one.merge_commit_sha, one.squash_commit_sha}:
        return True
    git, versions = call.hosting.git(call.project), call.hosting.store.find(Version, one.repository, iid=one.iid)
    return any(git.is_ancestor(sha, each.head_sha) and not git.is_ancestor(sha, each.base_sha) for each in versions)


def _status(call: Call, one: Status) -> Json:
    fields = ("id", "sha", "ref", "status", "name", "target_url", "description", "created_at", "started_at")
    return {
        **{field: getattr(one, field) for field in fields},
        "finished_at": one.finished_at,
        "allow_failure": False,
        "pipeline_id": one.pipeline,
        "author": shapes.named(call.hosting, one.user),
    }


@ROUTES.add("POST", "/projects/:id/statuses/:sha", DEVELOPER)
def set_status(call: Call) -> Response:
    """Set a status; GitLab answers 201 also when it changed one."""
    given = call.given()
    statuses.check_state(given.get("state"))
    return answer(_status(call, statuses.set_one(call.hosting, call.project, call.path["sha"], call.user, given)), 201)


@ROUTES.add("POST", "/projects/:id/pipeline", DEVELOPER)
def start_pipeline(call: Call) -> Response:
    """Make a pipeline of a ref, as GitLab does for what it builds itself: statuses of that commit go there from now."""
    ref, hosting = str(call.needed("ref")["ref"]), call.hosting
    sha = statuses.commit_of(hosting, call.project, ref)
    with hosting.writing(call.project):
        made = statuses.start_pipeline(hosting, call.project, sha, ref, call.user, source="api")
        for name, state in jobs.wanted(call.given()).items():
            jobs.begin(hosting, call.project, made, name, state)
    return answer(shapes.pipeline(hosting, call.project, made), 201)


@ROUTES.add("GET", f"{_COMMITS}/:sha/statuses", REPORTER)
def list_statuses(call: Call) -> Response:
    """List statuses, limited by ``name``; of each name and pipeline the newest, unless ``all``."""
    name, everything = call.request.args.get("name"), call.flag("all")
    found = call.hosting.store.find(Status, call.project.repository, sha=_sha(call))
    found = [one for one in found if name in {None, one.name} and (everything or not one.retried)]
    return page_of(call, found, lambda one: _status(call, one))


@ROUTES.add("GET", "/projects/:id/pipelines/:pipeline/jobs", REPORTER)
def jobs_of(call: Call) -> Response:
    """List the jobs that GitLab itself runs in a pipeline, without retried ones unless ``include_retried``."""
    everything, same = call.flag("include_retried"), {"pipeline": int(call.path["pipeline"]), "job": 1}
    found = call.hosting.store.find(Status, call.project.repository, **same)
    found = [one for one in found if everything or not one.retried]
    return page_of(call, found, lambda one: jobs.shape(call.hosting, call.project, one))


@ROUTES.add("POST", "/projects/:id/jobs/:job/retry", DEVELOPER)
def retry_job(call: Call) -> Response:
    made = jobs.retry(call.hosting, call.project, int(call.path["job"]))
    return answer(jobs.shape(call.hosting, call.project, made), 201)


@ROUTES.add("GET", f"{_IN}/tree", REPORTER)
def tree(call: Call) -> Response:
    """List a directory (``path``) at a commit, branch or tag (``ref``)."""
    git, path = call.hosting.git(call.project), call.request.args.get("path", "").strip("/")
    try:
        listed = git.run("ls-tree", "-z", f"{git.resolve(call.request.args.get('ref', 'HEAD'))}:{path}")
    except GitRefused:
        raise not_found("Tree") from None
    return page_of(call, [each.split("\t", 1) for each in listed.split("\0")[:-1]], lambda one: _entry(path, *one))


def _entry(home: str, meta: str, name: str) -> Json:
    mode, kind, oid = meta.split()
    return {"id": oid, "name": name, "type": kind, "path": f"{home}/{name}" if home else name, "mode": mode}


@ROUTES.add("GET", f"{_IN}/blobs/:sha/raw", REPORTER)
def blob(call: Call) -> Response:
    try:
        content = call.hosting.git(call.project).run_bytes("cat-file", "blob", call.path["sha"])
    except GitRefused:
        raise not_found("Blob") from None
    return Response(content, content_type="text/plain")


@ROUTES.add("POST", "/projects/:id/protected_branches", MAINTAINER)
def protect_branch(call: Call) -> Response:
    """Say who may push to the default branch, which is protected always."""
    level = int(call.given().get("push_access_level", MAINTAINER))
    call.hosting.store.change(Project, call.project.id, lambda old: replace(old, push_level=level))
    return answer({"name": call.project.default_branch, "push_access_levels": [{"access_level": level}]}, 201)

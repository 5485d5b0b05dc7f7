"""Whether a CI run may announce images: what the claims of its token say of it.

GitHub's claims are described at https://docs.github.com/en/actions/reference/security/oidc, and GitLab's at
https://docs.gitlab.com/ci/secrets/id_token_authentication. What orders the runs: GitHub's ``run_number`` begins at 1
for the first run of a workflow and grows with each new one (docs.github.com/actions/reference/variables-reference).
GitLab's tokens have no number of the project's pipelines, only ``pipeline_id``, which grows over all pipelines of the
instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tidegate.rules.errors import TidegateError, quoted

_BRANCH = "refs/heads/"
#: Parts of events of changes that are not merged: GitHub's pull_request_target, GitLab's external_pull_request_event. A
#: child pipeline does not tell whether its parent is of a merge request, whose source branch it names then
#: (gitlab.com/gitlab-org/gitlab/-/merge_requests/23884 and issues/548165).
_UNMERGED = ("pull_request", "merge_request", "parent_pipeline")
#: Fits the trailer of a commit.
_LONGEST_NUMBER = 18


class InvalidCiToken(TidegateError):
    """A token that is not what the CI of this installation's provider issues to a run."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"This request needs a token of your CI: {problem}. Get it in the job that announces, for the audience of "
            "this installation (docs/config-updates.md)."
        )


class CiRunRefused(TidegateError):
    """A run that may not announce this."""


@dataclass(frozen=True, slots=True)
class CiRun:
    """A run of CI, as its token says. ``ref`` is whole, such as ``refs/heads/main``; ``number`` orders runs.

    ``event`` is what started it, in the provider's words.
    """

    repository: str
    ref: str
    sha: str
    number: int
    event: str
    by: str

    @property
    def branch(self) -> str:
        """The branch that it ran for, empty for a tag or a pull request."""
        return self.ref.removeprefix(_BRANCH) if self.ref.startswith(_BRANCH) else ""


class UnknownAnnouncer(CiRunRefused):
    """A run of a repository that does not announce this set.

    Anybody may get a token for any audience, so the message does not tell what there is.
    """

    def __init__(self, run: CiRun, repository: str, image_set: str) -> None:
        super().__init__(
            f"{run.repository} may not announce images of the set {image_set} to {repository}: one of them does not "
            "exist, app.repository of the set names another repository, Tidegate has not seen a push to the default "
            "branch yet, or its tidegate.yaml is not valid. After you correct it, announce again a minute later."
        )


class UnknownSetOfAnnouncer(CiRunRefused):
    """A run of a repository that announces other sets ``known``: it may be told their names."""

    def __init__(self, run: CiRun, image_set: str, known: Sequence[str]) -> None:
        super().__init__(
            f"{run.repository} announces no image set {image_set}. It announces: {', '.join(known)} (app.repository in "
            "tidegate.yaml on the default branch)."
        )


def run_of(claims: Mapping[str, Any], *, gitlab: bool) -> CiRun:
    """Return the run that the claims of a verified token tell of. Raise InvalidCiToken if one is missing."""
    if gitlab:
        ref = _claim(claims, "ref_path") if "ref_path" in claims else _gitlab_ref(claims)
        by = claims.get("user_login")
        what = _claim(claims, "project_path"), ref, _claim(claims, "sha"), _number(claims, "pipeline_id")
        event = _claim(claims, "pipeline_source")
    else:
        by = claims.get("actor")
        ref, number = _claim(claims, "ref"), _number(claims, "run_number")
        what = _claim(claims, "repository"), ref, _claim(claims, "sha"), number
        event = _claim(claims, "event_name")
    return CiRun(*what, event, by if isinstance(by, str) else "")


def _gitlab_ref(claims: Mapping[str, Any]) -> str:
    kinds = {"branch": _BRANCH, "tag": "refs/tags/"}
    return kinds.get(str(claims.get("ref_type")), "") + _claim(claims, "ref")


def _claim(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidCiToken(f"it has no claim {name}")
    return value


def _number(claims: Mapping[str, Any], name: str) -> int:
    value = str(claims.get(name, ""))
    if not (value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER):
        raise InvalidCiToken(f"its claim {name} is no number")
    return int(value)


def check_run(run: CiRun, branches: Sequence[str], app_sha: str) -> None:
    """Raise CiRunRefused unless the run was for one of these branches (globs), and for this commit.

    A run for a change that is not merged may name a branch all the same: ``pull_request_target`` its base, and a merge
    request's pipeline its source branch, which anybody may call ``main`` in a fork.
    """
    if any(each in run.event for each in _UNMERGED):
        raise CiRunRefused(
            f"The run was started by {quoted(run.event)}. Announce in a run for the branch, after the merge; "
            "on GitLab, not in a child pipeline."
        )
    if not run.branch or not any(fnmatchcase(run.branch, each) for each in branches):
        raise CiRunRefused(
            f"The run was for {quoted(run.ref)}. Announcements are accepted from: {', '.join(branches)} (app.refs)."
        )
    if run.sha != app_sha:
        raise CiRunRefused(f"The run was for the commit {quoted(run.sha)}, and not for {app_sha}, which it announces.")

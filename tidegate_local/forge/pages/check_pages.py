"""The page of a check run, its buttons, and the re-runs of a commit's checks."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import checks
from tidegate_local.forge.pages.repository_pages import shown
from tidegate_local.forge.pages.visit import Visit
from tidegate_local.forge.records import CheckRun
from tidegate_local.forge.refusals import not_found

RERUN = "re-run"


def _run(visit: Visit) -> CheckRun:
    try:
        found = visit.hosting.store.get(CheckRun, visit.path["id"])
    except KeyError:
        raise not_found() from None
    if found.repository != visit.repository.repository:
        raise not_found()
    return found


def run(visit: Visit) -> Response:
    """Show a check run beside the other checks of its commit."""
    one = _run(visit)
    commit = shown(visit, visit.git.commit(one.head_sha))
    newest = next(other for other in commit.runs if other.name == one.name)
    clicked = visit.request.args.get("clicked")
    labels = {action["identifier"]: action["label"] for action in one.actions}
    return visit.show(
        "run.html",
        repository=visit.repository,
        run=one,
        commit=commit.commit,
        runs=commit.runs,
        newest=newest,
        clicked="Re-run" if clicked == RERUN else labels.get(clicked or ""),
        live=True,
        moving=commit.may_change,
    )


def click(visit: Visit) -> Response:
    """Click a button of a check run: the App gets the check_run webhook (requested_action).

    Everybody who can see the page can click: it is the App that knows who may decide what.
    """
    form, one = visit.form(), _run(visit)
    identifier = form.get("identifier", "")
    checks.click(visit.hosting, visit.repository, one, identifier, visit.person.login)
    return _sent(visit.go("runs", one.id), identifier)


def rerun(visit: Visit) -> Response:
    """Ask the App to run a check again."""
    visit.form()
    one = _run(visit)
    checks.rerun(visit.hosting, visit.repository, one, visit.person.login)
    return _sent(visit.go("runs", one.id), RERUN)


def _sent(response: Response, what: str) -> Response:
    """Say on the page to which the answer leads what was sent."""
    response.location = f"{response.location}?clicked={what}"
    return response


def rerun_failed(visit: Visit) -> Response:
    """Ask the App to run a commit's failed checks again: one check_run webhook for each."""
    visit.form()
    sha = visit.path["sha"]
    count = checks.rerun_failed(visit.hosting, visit.repository, sha, visit.person.login)
    return _sent(visit.go("commit", sha), f"failed-{count}")


def rerun_all(visit: Visit) -> Response:
    """Ask the App to run all checks of a commit again: one check_suite webhook."""
    visit.form()
    sha = visit.path["sha"]
    checks.rerun_all(visit.hosting, visit.repository, sha, visit.person.login)
    return _sent(visit.go("commit", sha), "all")

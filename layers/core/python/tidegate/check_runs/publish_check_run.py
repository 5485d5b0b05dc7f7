"""Update a deployment's check run: it shows the newest state, whatever came before.

A completed check run (also one that waits for review) is never reopened: a new one continues, and the old one links to
it. A repeated call finds its earlier work by the deployment's id, so no second new one is created. The VCS provider
shows the newest of a name: if an older deployment's check run comes late, the newer deployment gets another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from tidegate.check_runs.check_run_view import present_check_run
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.state import is_final
from tidegate.deploys.texts.text import check_run_name, render_continued
from tidegate.gates.notify_waiting import notify_waiting
from tidegate.insights.count import count_deployment
from tidegate.ports import Ports, PublishedCheckRun
from tidegate.pull_requests.show_deploys import deploys_changed
from tidegate.rules.errors import NotYet
from tidegate.vcs.rules.check_run import CheckRun, annotation_digest, digest_of

_COMPLETED = "completed"


def publish_check_run(
    ports: Ports,
    deployment_id: str,
    *,
    again: bool = False,
    if_new: bool = False,
    repeated_by: str = "",
    answer: str = "",
    not_before: int = 0,
) -> None:
    """Publish the deployment's newest state; with ``again`` also if it is shown, because the context changed.

    A deployment that has ended is counted first: the reconciler repeats all of it until the end is published.
    With ``if_new``, unchanged content is not written again. ``repeated_by`` is the deployment that runs this one again,
    if any. ``answer`` says why a request had no effect, and stays until the state changes. Raise NotYet before
    ``not_before`` (seconds since 1970), ForgeUnavailable (with the seconds to wait, if known) and ForgeRefused.
    """
    early = not_before - ports.clock.now().timestamp()
    if early > 0:
        raise NotYet(max(1, round(early)))
    deployment = ports.deployments.get(deployment_id)
    shown = ports.check_runs.published(deployment.id)
    if shown is not None and shown.shown_version >= deployment.version and not again:
        return
    if is_final(deployment.state) and (shown is None or shown.shown_version < deployment.version):
        count_deployment(ports, deployment)
    repeated_by = repeated_by or (shown.repeated_by if shown else "")
    answer = answer or (shown.answer if shown and shown.answered_in == deployment.state else "")
    check_run = present_check_run(ports, deployment, answer, repeated_by)
    published = PublishedCheckRun(
        deployment.id,
        shown.id if shown else 0,
        deployment.version,
        closed=check_run.status == _COMPLETED,
        digest=digest_of(replace(check_run, annotations=())),
        repeated_by=repeated_by,
        answer=answer,
        answered_in=deployment.state if answer else "",
        noted=shown.noted if shown and shown.noted else tuple(map(annotation_digest, check_run.annotations)),
    )
    if shown is not None and shown.noted:  # The forge adds what it gets to what is there.
        check_run = replace(check_run, annotations=())
    is_shown = if_new and shown is not None and shown.digest == published.digest
    if not is_shown:
        is_hidden = again and not if_new and shown is not None and _is_hidden(ports, deployment, shown.id)
        published = _publish(ports, deployment, shown, published, check_run, anew=is_hidden)
    if shown is None or shown.shown_version < deployment.version:
        notify_waiting(ports, deployment)
        deploys_changed(ports, deployment)
    ports.check_runs.remember(published)
    if is_final(deployment.state):
        ports.deployments.shown(deployment.id)


def _publish(
    ports: Ports,
    deployment: Deployment,
    shown: PublishedCheckRun | None,
    published: PublishedCheckRun,
    check_run: CheckRun,
    *,
    anew: bool,
) -> PublishedCheckRun:
    """Write to the check run ``shown``, or to a new one, and return what is published then."""
    if shown is not None and not shown.closed and not anew:
        _update(ports, deployment, shown.id, check_run)
        return published
    return replace(published, id=_open(ports, deployment, shown, check_run, published.answer, anew=anew))


def _open(
    ports: Ports, deployment: Deployment, old: PublishedCheckRun | None, check_run: CheckRun, answer: str, *, anew: bool
) -> int:
    """Publish the state on a new check run, or on an unrecorded one of an earlier call.

    A completed state stays on the old one, unless such a newer one exists: that would never end.
    """
    on_commit = ports.check_run_publisher.commit_check_runs(deployment.repository, deployment.revision.sha)
    made = max((number for number, other in on_commit.items() if other == deployment.id), default=None)
    if made is not None and (old is None or made != old.id):
        _update(ports, deployment, made, check_run)
    elif old is not None and check_run.status == _COMPLETED and not anew:
        _update(ports, deployment, old.id, check_run)
        return old.id
    else:
        made = ports.check_run_publisher.create_check_run(deployment.repository, check_run)
        if old is not None and made == old.id:
            return made  # GitLab has one status for each deployment, which is updated.
    _show_newer(ports, deployment, on_commit)
    if old is not None:
        url = ports.addresses.check_run_url(deployment.repository, made)
        _update(ports, deployment, old.id, render_continued(deployment, url, answer))
    elif deployment.rerun.of:
        ports.event_publisher.repeated(deployment.rerun.of, deployment.id)
    return made


def _is_hidden(ports: Ports, deployment: Deployment, number: int) -> bool:
    """Tell whether an older deployment's check run hides this one's: the newest of a name is shown."""
    on_commit = ports.check_run_publisher.commit_check_runs(deployment.repository, deployment.revision.sha)
    later = {other: each for each, other in on_commit.items() if each > number}
    return any(_place(each) < _place(deployment) for each in _namesakes(ports, deployment, later))


def _show_newer(ports: Ports, deployment: Deployment, on_commit: Mapping[int, str]) -> None:
    """Update the newest deployment of the same name, if a new check run hides its own."""
    newest = max(_namesakes(ports, deployment, set(on_commit.values())), key=_place, default=deployment)
    if _place(newest) > _place(deployment):
        ports.event_publisher.refresh(newest.id)


def _namesakes(ports: Ports, deployment: Deployment, others: Collection[str]) -> list[Deployment]:
    """Return other deployments whose check runs have the same name. Most are excluded by their ids."""
    beginning = deployment.id.rpartition("-")[0]
    alike = [each for each in others if each.rpartition("-")[0] == beginning and each != deployment.id]
    known = ports.deployments.many(alike).values() if alike else ()
    return [each for each in known if check_run_name(each) == check_run_name(deployment)]


def _update(ports: Ports, deployment: Deployment, check_run_id: int, check_run: CheckRun) -> None:
    ports.check_run_publisher.update_check_run(deployment.repository, check_run_id, check_run)


def _place(deployment: Deployment) -> tuple[datetime, str]:
    return deployment.request.at, deployment.id

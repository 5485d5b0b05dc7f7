"""The HTTP API's routes of config updates: for CI, for targets, for people and operators."""

# ruff: noqa: A002, ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from cachetools import TTLCache

from tidegate.config_updates.announce import announce_images
from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.get_entries import get_entry, get_set, get_sets, get_update_queue
from tidegate.config_updates.hold import hold_set, release_set
from tidegate.config_updates.pause import pause_queue, resume_queue
from tidegate.config_updates.promote import promote_to
from tidegate.config_updates.read_configuration import configuration_problem
from tidegate.config_updates.reports import DeployedTarget, report_target
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.roll_back import roll_back
from tidegate.config_updates.rules.announcing import Announced
from tidegate.config_updates.rules.answers import EntryDecision
from tidegate.config_updates.rules.flux import read_flux_event
from tidegate.config_updates.rules.queue import waits_for
from tidegate.config_updates.target_tokens import is_target_token, make_target_token
from tidegate.config_updates.verify_announcer import KnownAnnouncers, verify_announcer
from tidegate.ports import Ports
from tidegate.rules.decision import Decision
from tidegate.web.api import NameInPath, OwnerInPath, described
from tidegate.web.authorization import REMEMBERED, REMEMBERED_SECONDS, access_of
from tidegate.web.nested import whole_owner
from tidegate.web.refusals import InvalidTargetToken, PayloadMismatch, QueueFull, SupersededAnnouncement, ensure_done
from tidegate.web.update_models import (
    COMMIT_PATTERN,
    NAME_PATTERN,
    AnnouncedModel,
    AnnouncementGiven,
    Announcing,
    FluxEvent,
    ImageSetModel,
    ImageSetsModel,
    NothingGiven,
    ReasonGiven,
    ReportedModel,
    ReportGiven,
    Reporting,
    RollbackGiven,
    TargetToken,
    UpdateDone,
    UpdateEntryModel,
    UpdatesQueueModel,
    entry_model,
    queue_model,
    reported_model,
    set_model,
)

_BASE = "/api/v1/config-updates/<owner>/<name>"
_SET, _ENTRY = f"{_BASE}/sets/<image_set>", f"{_BASE}/entries/<id>"
_JSON = "application/json"
_Name = Annotated[str, Path(pattern=NAME_PATTERN)]
_Commit = Annotated[str, Path(pattern=COMMIT_PATTERN)]
_Entry = Annotated[str, Path(pattern=r"^[0-9A-Za-z]{1,40}$")]
_Nothing = Annotated[NothingGiven, Body()]
_NO_REPORT = "This event of Flux is no report of a deployed commit. Nothing was changed."
#: Security schemes of the description.
CI, TARGET = "ci", "target"
_REFUSED = {
    Announced.MISMATCH: PayloadMismatch,
    Announced.SUPERSEDED: SupersededAnnouncement,
    Announced.FULL: QueueFull,
}


class UpdatesApi:
    """Adds the routes to a resolver."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._announcers: KnownAnnouncers = TTLCache(REMEMBERED, REMEMBERED_SECONDS, ports.monotonic)

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        self._announcements(app)
        self._reports(app)
        self._reading(app)
        self._queue(app)
        self._sets(app)
        self._environments(app)

    def _announcements(self, app: APIGatewayHttpResolver) -> None:
        ports, known = self._ports, self._announcers
        answers = described(202, "It is in the queue", AnnouncedModel, 403, 404, 409, 413)
        answers[200] = {**answers[202], "description": "It was announced before, with the same images"}

        @app.put(
            f"{_SET}/images/<app_sha>",
            summary="Announce the images that CI has built of a commit; with a token of the CI run",
            tags=["config updates"],
            status_code=202,
            responses=answers,
            security=[{CI: []}],
        )
        def announce(
            owner: OwnerInPath,
            name: NameInPath,
            image_set: _Name,
            app_sha: _Commit,
            given: Annotated[Announcing, Body()],
        ) -> Response[AnnouncedModel]:
            repository = _repository(owner, name)
            run = verify_announcer(ports, _token(app), repository, image_set, app_sha, known)
            asked = given if isinstance(given, AnnouncementGiven) else AnnouncementGiven(images=given)
            images = {service: image.model_dump() for service, image in asked.images.items()}
            sequence = run.number if asked.sequence is None else asked.sequence
            what = image_set, app_sha, images
            made = announce_images(ports, repository, *what, sequence=sequence, by=run.by, run_url=asked.run_url)
            if refusal := _REFUSED.get(made.result):
                raise refusal(made.reason)
            duplicate = made.result is Announced.DUPLICATE
            waits = not made.entry.is_ended and waits_for(ports.config_updates.head(repository), made.entry)
            answer = AnnouncedModel(
                id=made.entry.id,
                state=made.entry.state,
                duplicate=duplicate,
                paused=bool(waits),
                message=made.reason,
            )
            return Response(HTTPStatus.OK if duplicate else HTTPStatus.ACCEPTED, _JSON, answer)

    def _reports(self, app: APIGatewayHttpResolver) -> None:
        ports = self._ports
        answers = described(202, "The report is stored", ReportedModel, 403, 404, 409, 413)
        answers[200] = {
            **answers[202],
            "description": "It tells nothing new, or the target has reported a later one",
        }

        @app.post(
            f"{_SET}/targets/<target>/deployed",
            summary="Report what a target has deployed; with the target's token",
            tags=["config updates"],
            status_code=202,
            responses=answers,
            security=[{TARGET: []}],
        )
        def deployed(
            owner: OwnerInPath,
            name: NameInPath,
            image_set: _Name,
            target: _Name,
            given: Annotated[Reporting, Body()],
        ) -> Response[ReportedModel]:
            repository = _repository(owner, name)
            if not is_target_token(ports, repository, image_set, target, _token(app)):
                raise InvalidTargetToken
            what = _deployed(image_set, target, given)
            if what is None:
                nothing = ReportedModel(message=_NO_REPORT, environment="", rollout=None, done=0, total=0)
                return Response(HTTPStatus.OK, _JSON, nothing)
            made = report_target(ports, repository, what)
            answer = reported_model(made)
            return Response(HTTPStatus.OK if made.repeated or made.outdated else HTTPStatus.ACCEPTED, _JSON, answer)

    def _reading(self, app: APIGatewayHttpResolver) -> None:
        ports = self._ports

        @app.get(
            f"{_BASE}/queue",
            summary="The queue of a config repository: what is on the auto branch, and what waits",
            tags=["config updates"],
            responses=described(200, "The queue", UpdatesQueueModel, 404),
        )
        def queue(owner: OwnerInPath, name: NameInPath) -> UpdatesQueueModel:
            repository = access_of(app).repository
            return queue_model(get_update_queue(ports, repository), configuration_problem(ports, repository))

        @app.get(
            _ENTRY,
            summary="An entry of the queue, also after it has left",
            tags=["config updates"],
            responses=described(200, "The entry", UpdateEntryModel, 404),
        )
        def entry(owner: OwnerInPath, name: NameInPath, id: _Entry) -> UpdateEntryModel:
            return entry_model(get_entry(ports, access_of(app).repository, id))

        @app.get(
            f"{_BASE}/sets",
            summary="The image sets: which commit runs in which environment",
            tags=["config updates"],
            responses=described(200, "The image sets", ImageSetsModel, 404, 409),
        )
        def sets(owner: OwnerInPath, name: NameInPath) -> ImageSetsModel:
            repository = access_of(app).repository
            return ImageSetsModel(repository=repository, sets=[set_model(each) for each in get_sets(ports, repository)])

        @app.get(
            _SET,
            summary="An image set and its environments",
            tags=["config updates"],
            responses=described(200, "The image set", ImageSetModel, 404, 409),
        )
        def one_set(owner: OwnerInPath, name: NameInPath, image_set: _Name) -> ImageSetModel:
            return set_model(get_set(ports, access_of(app).repository, image_set))

    def _queue(self, app: APIGatewayHttpResolver) -> None:
        ports, done = self._ports, self._done

        @app.post(f"{_BASE}/queue/pause", summary="Let nothing move until somebody resumes the queue", **_acting())
        def pause(owner: OwnerInPath, name: NameInPath, given: Annotated[ReasonGiven, Body()]) -> UpdateDone:
            return done(pause_queue(ports, access_of(app).repository, access_of(app).login, given.reason))

        @app.post(f"{_BASE}/queue/resume", summary="Let a paused queue continue", **_acting())
        def resume(owner: OwnerInPath, name: NameInPath, given: _Nothing) -> UpdateDone:
            return done(resume_queue(ports, access_of(app).repository, access_of(app).login))

        @app.post(f"{_ENTRY}/evict", summary="Let an entry leave the queue", **_acting())
        def evict(owner: OwnerInPath, name: NameInPath, id: _Entry, given: _Nothing) -> UpdateDone:
            return done(evict_entry(ports, access_of(app).repository, id, access_of(app).login))

        @app.post(f"{_ENTRY}/retry", summary="Put an evicted or failed entry into the queue again", **_acting())
        def retry(owner: OwnerInPath, name: NameInPath, id: _Entry, given: _Nothing) -> UpdateDone:
            return done(retry_entry(ports, access_of(app).repository, id, access_of(app).login))

    def _sets(self, app: APIGatewayHttpResolver) -> None:
        ports, done = self._ports, self._done

        @app.post(f"{_SET}/hold", summary="Keep new images and promotions of a set waiting", **_acting())
        def hold(
            owner: OwnerInPath, name: NameInPath, image_set: _Name, given: Annotated[ReasonGiven, Body()]
        ) -> UpdateDone:
            access = access_of(app)
            return done(hold_set(ports, access.repository, image_set, access.login, given.reason))

        @app.post(f"{_SET}/release", summary="End the hold of a set", **_acting())
        def release(owner: OwnerInPath, name: NameInPath, image_set: _Name, given: _Nothing) -> UpdateDone:
            return done(release_set(ports, access_of(app).repository, image_set, access_of(app).login))

        @app.post(
            f"{_SET}/targets/<target>/token",
            summary="Make a new token for a target; the one before is not valid any more",
            **{**_acting(), "responses": described(200, "The token", TargetToken, 403, 404, 409, 413)},
        )
        def token(
            owner: OwnerInPath,
            name: NameInPath,
            image_set: _Name,
            target: _Name,
            given: _Nothing,
        ) -> TargetToken:
            made = make_target_token(ports, access_of(app).repository, image_set, target, access_of(app).login)
            message = (
                "Store it where the target reports from: it is not shown again. An earlier one is no longer valid."
            )
            return TargetToken(token=made, message=message)

    def _environments(self, app: APIGatewayHttpResolver) -> None:
        ports, done, base = self._ports, self._done, f"{_SET}/environments/<environment>"

        @app.post(f"{base}/promote", summary="Promote to an environment what runs in the one before", **_acting())
        def promote(
            owner: OwnerInPath,
            name: NameInPath,
            image_set: _Name,
            environment: _Name,
            given: _Nothing,
        ) -> UpdateDone:
            return done(promote_to(ports, access_of(app).repository, image_set, environment, access_of(app).login))

        @app.post(f"{base}/rollback", summary="Go back to an earlier image set, and hold the set", **_acting())
        def rollback(
            owner: OwnerInPath,
            name: NameInPath,
            image_set: _Name,
            environment: _Name,
            given: Annotated[RollbackGiven, Body()],
        ) -> UpdateDone:
            access = access_of(app)
            what, override = (image_set, environment, access.login, given.to), given.override.strip()
            return done(roll_back(ports, access.repository, *what, override=override))

    def _done(self, decision: Decision) -> UpdateDone:
        ensure_done(decision)
        entry = decision.entry if isinstance(decision, EntryDecision) else None
        if entry is None:
            return UpdateDone(message=decision.reason)
        view = get_entry(self._ports, entry.repository, entry.id)
        return UpdateDone(message=decision.reason, entry=entry_model(view))


def _deployed(image_set: str, target: str, given: ReportGiven | FluxEvent) -> DeployedTarget | None:
    """Return what a target reports; None for an event of Flux that is no report."""
    if isinstance(given, ReportGiven):
        succeeded = given.result == "succeeded"
        return DeployedTarget(image_set, target, given.config_sha, succeeded, given.operation_id, given.finished_at)
    found = read_flux_event(given.model_dump())
    return DeployedTarget(image_set, target, found.config_sha, found.succeeded) if found else None


def _acting() -> dict[str, Any]:
    return {"tags": ["config updates"], "responses": described(200, "The result", UpdateDone, 403, 404, 409, 413)}


def _repository(owner: str, name: str) -> str:
    return f"{whole_owner(owner)}/{name}"


def _token(app: APIGatewayHttpResolver) -> str:
    """Return the bearer token of a request, empty if it has none."""
    scheme, _, token = app.current_event.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""

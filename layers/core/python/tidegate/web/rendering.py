"""Pages from templates. Everything in a template is escaped, unless it was made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from tidegate.config.rules.drift import DriftState
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.left_behind import stays
from tidegate.deploys.rules.locking import LONGEST_REASON
from tidegate.deploys.rules.overview import by_stack
from tidegate.deploys.rules.phases import Phase, PhaseKind
from tidegate.deploys.rules.queue import is_held_back
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import FAILED, State
from tidegate.deploys.rules.unapproved import refused_because
from tidegate.deploys.texts.advice import NEWER_REVISION, REPLACED, REPLACED_SENTENCE
from tidegate.plans.rules.cost import difference_text, money, signed, total_text
from tidegate.plans.rules.counts import each_count
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState, VerdictKind
from tidegate.roots.rules.query_words import MAXIMUM_LENGTH
from tidegate.rules.timestamp import timestamp_text
from tidegate.texts.durations import duration
from tidegate.texts.markdown import plain, without_marks
from tidegate.vcs.rules.check_run import Conclusion
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS, ForgeTerms
from tidegate.web.ages import age, relative
from tidegate.web.grouping import grouped
from tidegate.web.nested import in_path
from tidegate.web.picture import progress
from tidegate.web.problems import Answered
from tidegate.web.search import LONGEST_SEARCH
from tidegate.web.workflow_picture import anchor

HERE = Path(__file__).parent
STATIC = HERE / "static"
HTML = "text/html; charset=utf-8"

#: How a state reads, and the colour that it has.
STATES: dict[State, tuple[str, str]] = {
    State.QUEUED: ("Queued", "quiet"),
    State.PLANNING: ("Planning", "busy"),
    State.GATED: ("Waiting for others", "quiet"),
    State.BLOCKED: ("Blocked", "bad"),
    State.AWAITING_REVIEW: ("Waiting for review", "attention"),
    State.APPROVED: ("Approved", "busy"),
    State.AWAITING_REQUIREMENTS: ("Requirements missing", "attention"),
    State.APPLYING: ("Applying", "busy"),
    State.APPLIED: ("Applied", "good"),
    State.NO_CHANGES: ("No changes", "good"),
    State.PLAN_FAILED: ("Plan failed", "bad"),
    State.APPLY_FAILED: ("Apply failed", "bad"),
    State.REJECTED: ("Rejected", "quiet"),
    State.REVIEW_EXPIRED: ("Review timed out", "quiet"),
    State.GATE_EXPIRED: ("Timed out waiting", "quiet"),
    State.REFUSED: ("Refused", "bad"),
    State.SUPERSEDED: ("Superseded", "quiet"),
    State.CANCELLED: ("Cancelled", "quiet"),
    State.OUTCOME_UNKNOWN: ("Outcome unknown", "bad"),
    State.ENGINE_FAULT: ("Internal error", "bad"),
}
#: How a phase of a deployment reads.
PHASES: dict[PhaseKind, str] = {
    PhaseKind.QUEUE: "Queue",
    PhaseKind.PLAN: "Plan",
    PhaseKind.GATE: "Waiting for others",
    PhaseKind.REVIEW: "Review",
    PhaseKind.APPLY: "Apply",
}

#: The same for the layers of pull requests, for roots that are checked for drift, and for pull requests.
LAYER_STATES: dict[LayerState, tuple[str, str]] = {
    LayerState.WAITING: ("Waiting", "quiet"),
    LayerState.PLANNING: ("Planning", "busy"),
    LayerState.PLANNED: ("Planned", "good"),
    LayerState.NO_CHANGES: ("No changes", "good"),
    LayerState.FAILED: ("Plan failed", "bad"),
    LayerState.REFUSED: ("Refused", "bad"),
    LayerState.CANCELLED: ("Cancelled", "quiet"),
}
DRIFT_STATES: dict[DriftState, tuple[str, str]] = {
    DriftState.DRIFTED: ("Drifted", "attention"),
    DriftState.NONE: ("No drift", "good"),
    DriftState.FAILED: ("Plan failed", "bad"),
    DriftState.SKIPPED: ("Not checked", "quiet"),
}
PULL_REQUEST_STATES: dict[PullRequestState, tuple[str, str]] = {
    PullRequestState.IDLE: ("Up to date", "quiet"),
    PullRequestState.DISCOVERY_NEEDED: ("Finding changed roots", "busy"),
    PullRequestState.PLANNING: ("Planning", "busy"),
    PullRequestState.COMMENT_NEEDED: ("Writing the comment", "busy"),
}
#: How the verdict on a pull request reads, and its colour by that of its check run.
VERDICTS: dict[VerdictKind, str] = {
    VerdictKind.CONFLICT: "Merge conflict",
    VerdictKind.FAILED: "Failed",
    VerdictKind.REFUSED: "Refused",
    VerdictKind.HELD_UP: "Blocked",
    VerdictKind.NOT_PLANNED: "Not planned",
    VerdictKind.INCOMPLETE: "Partly planned",
    VerdictKind.WITH_OPTIONS: "No verdict",
    VerdictKind.PASSED: "Passed",
}
VERDICT_TONES: dict[Conclusion, str] = {
    Conclusion.SUCCESS: "good",
    Conclusion.FAILURE: "bad",
    Conclusion.ACTION_REQUIRED: "attention",
}


class Rendering:
    """Renders templates. ``url`` is where the pages are, ``terms`` are those of the forge.

    ``pictures`` is the origin of the pictures of accounts; those from elsewhere are not shown. ``now`` tells the time,
    from which pages tell how long ago something was.
    """

    def __init__(
        self, url: str, now: Callable[[], datetime], terms: ForgeTerms = GITHUB_TERMS, pictures: str = ""
    ) -> None:
        self._now = now
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            finalize=_harmless,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            url=url,
            terms=terms,
            MENU=_menu(terms),
            shows=lambda picture: bool(pictures) and picture.startswith(f"{pictures}/"),
            **_GLOBALS,
        )
        self._environment.filters.update(_FILTERS)

    def page(self, template: str, status: HTTPStatus = HTTPStatus.OK, **values: Any) -> Response[str]:
        """Return the page of a template."""
        shown = {"now": self._now(), **values}
        return Response(status, HTML, self._environment.get_template(template).render(shown))

    def show(
        self,
        app: APIGatewayHttpResolver,
        template: str,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        notice: str = "",
        **values: Any,
    ) -> Response[str]:
        """Return a page for who asks: the guard of its route put them and the token of their forms into the context."""
        person, csrf, path = app.context["person"], app.context["form_token"], app.current_event.path
        return self.page(template, status, person=person, csrf=csrf, path=path, notice=notice, **values)

    def problem(self, problem: Answered, person: str = "", csrf: str = "") -> Response[str]:
        """Return the page of a refusal; ``person`` is who is signed in, if anybody is."""
        return self.page("problem.html", problem.status, problem=problem, person=person, csrf=csrf, path="")


def _menu(terms: ForgeTerms) -> tuple[tuple[str, str], ...]:
    """Return the pages of the bar at the top, with their addresses."""
    return (
        ("Inbox", "/"),
        ("Deployments", "/deployments"),
        (terms.pull_requests.capitalize(), "/pulls"),
        ("Environments", "/environments"),
        ("Clusters", "/clusters"),
        ("Drift", "/drift"),
        ("Insights", "/insights"),
        ("Repositories", "/repositories"),
    )


def see_other(target: str) -> Response[str]:
    """Send a browser on to another page, once what it posted is done."""
    return Response(HTTPStatus.SEE_OTHER, headers={"Location": target}, body="")


def address(path: str, **query: str | int | None) -> str:
    """Return a path with a query; what is None is left out."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def static_address(file: str) -> str:
    """Return the address of a static file; it changes with its content, so that browsers may keep it."""
    return f"/static/{file}?v={sha256((STATIC / file).read_bytes()).hexdigest()[:12]}"


def _pull_look(record: PullRequestRecord) -> tuple[str, str]:
    """Return how an open pull request reads and its colour: the verdict, once that is known."""
    if record.state is not PullRequestState.IDLE:
        return PULL_REQUEST_STATES[record.state]
    if record.verdict is not None:
        return VERDICTS[record.verdict.kind], VERDICT_TONES.get(record.verdict.conclusion, "quiet")
    if record.layers:
        return PULL_REQUEST_STATES[record.state]
    return (VERDICTS[VerdictKind.NOT_PLANNED] if record.notice else "No root changes"), "quiet"


def _harmless(value: Any) -> Any:
    """Return what a template shows without escape sequences, control characters and marks that turn text around."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _total_cost(deployments: Iterable[Deployment]) -> str:
    """Return what the plans of deployments cost together, empty where none says."""
    return total_text(each.planned.plan.cost for each in deployments if each.planned.plan)


def _moment(at: datetime | None) -> str:
    return moment(at) if at else "\N{EN DASH}"


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _state(state: State) -> str:
    return STATES[state][0]


def _tone(state: State) -> str:
    return STATES[state][1]


def _phase_tone(phase: Phase) -> str:
    """Return the colour of a phase: of the state that a deployment ended in, or how far it is."""
    if phase.ended is not None:
        return _tone(phase.ended)
    if not phase.current:
        return "past"
    return "attention" if phase.kind is PhaseKind.REVIEW else "busy"


def _phase_weight(phase: Phase) -> str:
    """Return the width of a phase, ``g1`` to ``g9``: it doubles with the time, as reviews take days."""
    return f"g{min(9, 1 + int(phase.took.total_seconds()).bit_length() // 2)}"


def _short(sha: str) -> str:
    return sha[:7]


#: What all templates know.
_GLOBALS: Mapping[str, Any] = {
    "static": static_address,
    "address": address,
    "is_held_back": is_held_back,
    "LONGEST_SEARCH": LONGEST_SEARCH,
    "LONGEST_QUERY": MAXIMUM_LENGTH,
    "LONGEST_REASON": LONGEST_REASON,
    "MAXIMUM_REASON": MAXIMUM_REASON,
    "FAILED": FAILED,
    "REPLACED": REPLACED,
    "REPLACED_SENTENCE": REPLACED_SENTENCE,
    "NEWER_REVISION": NEWER_REVISION,
}
_FILTERS: Mapping[str, Callable[..., Any]] = {
    "refused_because": refused_because,
    "layer_state": lambda state: LAYER_STATES[state][0],
    "layer_tone": lambda state: LAYER_STATES[state][1],
    "drift_state": lambda state: DRIFT_STATES[state][0],
    "drift_tone": lambda state: DRIFT_STATES[state][1],
    "pull_state": lambda record: _pull_look(record)[0],
    "pull_tone": lambda record: _pull_look(record)[1],
    "stays": stays,
    "without_marks": without_marks,
    "timestamp": timestamp_text,
    "moment": _moment,
    "instant": _instant,
    "age": age,
    "relative": relative,
    "duration": duration,
    "phase_name": PHASES.get,
    "phase_tone": _phase_tone,
    "phase_weight": _phase_weight,
    "state": _state,
    "tone": _tone,
    "short": _short,
    "grouped": grouped,
    "by_stack": by_stack,
    "progress": progress,
    "in_path": in_path,
    "anchor": anchor,
    "each_count": each_count,
    "difference": difference_text,
    "money": money,
    "signed": signed,
    "total_cost": _total_cost,
}

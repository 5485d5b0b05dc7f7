"""How deployments look that wait at a gate for others of their change: waiting, blocked, and given up."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.domain.check_run import Conclusion
from tidegate.domain.check_run_face import REJECT, RETRY, Awaited, Face, View, counts_of, people
from tidegate.domain.deployment import Deployment, State
from tidegate.domain.markdown import code, escaped
from tidegate.domain.review import moment

#: How long the Terraform machine waits at a gate, in days.
GATE_DAYS = 14
#: Names in a title, and characters of each: the list below names more.
_IN_TITLE = 2
_LONGEST_IN_TITLE = 60
_LONGEST_NAME = 100

#: What one that others wait for does now, or how it ended.
_DOES: dict[State | None, str] = {
    None: "is not in line yet",
    State.QUEUED: "waits in its queue",
    State.PLANNING: "is planned",
    State.GATED: "waits for others of this change",
    State.BLOCKED: "**is blocked**",
    State.AWAITING_REVIEW: "**waits for its review**",
    State.APPROVED: "is approved",
    State.APPLYING: "is applied",
    State.APPLIED: "was applied",
    State.NO_CHANGES: "has nothing to change",
    State.PLAN_FAILED: "its plan failed",
    State.APPLY_FAILED: "its apply failed",
    State.REJECTED: "was rejected",
    State.REVIEW_EXPIRED: "its review timed out",
    State.GATE_EXPIRED: "waited too long for others",
    State.REFUSED: "was not let in",
    State.SUPERSEDED: "was superseded",
    State.OUTCOME_UNKNOWN: "its outcome is unknown",
    State.ENGINE_FAULT: "Tidegate failed",
}


def gated(deployment: Deployment, view: View) -> Face:
    """Return how a deployment looks that waits for others of its change.

    It is under way, so it has no buttons: the forge shows these on completed check runs only, and nothing is asked
    of anybody.
    """
    names = _title_names(deployment, view)
    if deployment.plan is None:
        layer = f" (layer {deployment.layer} of {deployment.layers})" if deployment.layers > 1 else ""
        title = f"Waiting for {names}{layer}"
        then = "Once they are deployed, or have nothing to change, this root is planned. That happens by itself."
    else:
        title = f"Waiting for {names}: {counts_of(deployment)}"
        then = (
            "The plan is made and waits with it. Once they are deployed, or have nothing to change, this goes on by "
            "itself. What is deployed meanwhile may change what this plan is about: then this root is planned again."
        )
    return Face(
        title, (f"**Waiting for {_whom(deployment)}** {then}", _list(deployment, view), _rejecting(view)), "in_progress"
    )


def blocked(deployment: Deployment, view: View) -> Face:
    """Return how a deployment looks when others that it waits for came to a bad end."""
    done = "planned or applied" if deployment.plan is None else "applied"
    return Face(
        f"Blocked: {_failed_names(view)}",
        (
            f"**Blocked**, because not all that this waits for was deployed. {escaped(deployment.reason)}".rstrip(),
            _list(deployment, view),
            "It goes on by itself when they are deployed.",
            (
                "* **Retry** runs what failed again, and looks at this gate again.\n"
                f"* **Reject** ends this deployment. Nothing is {done}, and later revisions go on as usual."
            ),
            f"A newer revision of this root takes its place. Without any of this, it ends after {GATE_DAYS} days.",
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(RETRY, REJECT),
    )


def gate_expired(deployment: Deployment, _: View) -> Face:
    """Return how a deployment looks that gave up waiting."""
    done = "planned or applied" if deployment.plan is None else "applied"
    on = f" on {moment(deployment.changed_at)}" if deployment.changed_at else ""
    return Face(
        "Waited too long for others of its change",
        (
            f"**What this waits for was not deployed within {GATE_DAYS} days**, so it ended{on}. Nothing was {done}. "
            f"{escaped(deployment.reason)}".rstrip(),
            "Run this check again, or merge the next revision: its plan includes these changes.",
        ),
        conclusion=Conclusion.TIMED_OUT,
    )


def _whom(deployment: Deployment) -> str:
    """Return whom the deployment waits for, as a clause with its stop."""
    parts = []
    if deployment.plan is None and deployment.waits.roots:
        parts.append(people(deployment.waits.roots))
    stacks = _stacks(deployment)
    if stacks:
        parts.append(f"stack{'s' if len(stacks) > 1 else ''} {people(stacks)}")
    return f"{' and '.join(parts) or 'others of this change'}."


def _stacks(deployment: Deployment) -> tuple[str, ...]:
    waits = deployment.waits
    return waits.plan_after if deployment.plan is None else waits.apply_after


def _title_names(deployment: Deployment, view: View) -> str:
    """Return what holds the gate: roots of the same stack, and stacks; only those of which some are not done."""
    roots, stacks = (deployment.waits.roots if deployment.plan is None else ()), _stacks(deployment)
    if view.gate is not None and not view.gate.more:
        held = {(awaited.root, awaited.stack) for awaited in view.gate.awaited}
        roots = tuple(root for root in roots if (root, deployment.stack) in held) or roots
        stacks = tuple(stack for stack in stacks if any(other == stack for _, other in held)) or stacks
    parts = []
    if roots:
        parts.append(_names(roots))
    if stacks:
        parts.append(f"stack{'s' if len(stacks) > 1 else ''} {_names(stacks)}")
    return " and ".join(parts) or "others of its change"


def _failed_names(view: View) -> str:
    names = tuple(dict.fromkeys(awaited.root for awaited in view.gate.awaited)) if view.gate else ()
    if not names:
        return "not all that it waits for was deployed"
    return f"{_names(names)} {'was' if len(names) == 1 else 'were'} not deployed"


def _names(names: Sequence[str]) -> str:
    """Return names for a title: of many the first, and how many more there are."""
    shown = [name[:_LONGEST_IN_TITLE] for name in names[:_IN_TITLE]]
    if len(names) > _IN_TITLE:
        shown.append(f"{len(names) - _IN_TITLE} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def _list(deployment: Deployment, view: View) -> str:
    """Return a line for each that holds the gate, and how many more there are."""
    gate = view.gate
    if gate is None:
        return ""
    lines = [_line(awaited, deployment) for awaited in gate.awaited]
    if gate.more:
        lines.append(f"* and {'up to ' if gate.at_most else ''}{gate.more} more")
    if gate.done:
        lines.append(f"* {gate.done} {'has' if gate.done == 1 else 'have'} been deployed, or had nothing to change")
    return "\n".join(lines)


def _line(awaited: Awaited, deployment: Deployment) -> str:
    name = code(awaited.root, _LONGEST_NAME)
    linked = f"[{name}]({awaited.url})" if awaited.url else name
    where = f" in stack {code(awaited.stack, _LONGEST_NAME)}" if awaited.stack != deployment.stack else ""
    since = f" since {moment(awaited.since)}" if awaited.since else ""
    return f"* {linked}{where}: {_DOES[awaited.state]}{since}"


def _rejecting(view: View) -> str:
    where = f" on [its page]({view.page_url})" if view.page_url else ""
    return f"**Reject**{where} ends this deployment. It waits for {GATE_DAYS} days at most."

"""Texts of deployments at a dependency gate: waiting, blocked, and expired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import GATE_DAYS, Point, point_of, yielded
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.deploys.texts.advice import again_after_a_time_out
from tidegate.deploys.texts.presentation import (
    REJECT,
    RETRY,
    PendingDependency,
    Presentation,
    View,
    WaitedFor,
    approval,
    counts_of,
    many,
    people,
    what_was_not,
    who_may,
)
from tidegate.deploys.texts.requirements import requirements_expired
from tidegate.rules.access import Action
from tidegate.rules.errors import GateBlocked
from tidegate.texts.markdown import code, escaped
from tidegate.texts.sentences import listed
from tidegate.vcs.rules.check_run import Conclusion

#: Names in a title, and characters of each: the list below names more.
_IN_TITLE = 2
_LONGEST_IN_TITLE = 60
_LONGEST_NAME = 100

#: What one that others wait for does now, or how it ended.
_DOES = {
    State.QUEUED: "is queued",
    State.PLANNING: "is being planned",
    State.GATED: "waits for its dependencies",
    State.BLOCKED: "**is blocked**",
    State.AWAITING_REVIEW: "**waits for its review**",
    State.APPROVED: "is approved",
    State.AWAITING_REQUIREMENTS: "**waits for its apply requirements**",
    State.APPLYING: "is being applied",
    State.APPLIED: "was applied",
    State.NO_CHANGES: "had no changes",
    State.PLAN_FAILED: "its plan failed",
    State.APPLY_FAILED: "its apply failed",
    State.REJECTED: "was rejected",
    State.REVIEW_EXPIRED: "its review timed out",
    State.GATE_EXPIRED: "timed out while it waited",
    State.REFUSED: "was not allowed to deploy",
    State.SUPERSEDED: "was superseded",
    State.CANCELLED: "was cancelled",
    State.OUTCOME_UNKNOWN: "its outcome is unknown",
    State.ENGINE_FAULT: "ended with an internal error",
}


def gated(deployment: Deployment, view: View) -> Presentation:
    """Return the text of a deployment that waits for dependencies.

    It is in progress, so it has no buttons: the VCS provider shows them on completed check runs only. A deployment that
    is about to be superseded is shown as ended immediately: a new check run of it could come after the newer one's and
    hide it, because the newest of a name is shown.
    """
    if _gives_way(deployment):
        return Presentation("Superseded", _ending(deployment), conclusion=Conclusion.SKIPPED)
    if deployment.gate is not None and deployment.gate.wave:
        return _in_a_wave(deployment, deployment.gate.wave, view)
    held_by = _still(deployment, view.waited_for)
    once = "Once all of them are deployed, or have no changes,"
    if point_of(deployment) is Point.PLAN:
        layer = (
            f" (layer {deployment.change.layer} of {deployment.change.layers})" if deployment.change.layers > 1 else ""
        )
        title = f"Waiting for {_in_title(*held_by)}{layer}"
        then = f"{once} planning starts automatically."
    else:
        title = f"Waiting for {_in_title(*held_by)}: {counts_of(deployment)}"
        then = (
            f"The plan is below. {once} this deployment continues automatically. If they change any "
            "infrastructure, this root is planned again first."
        )
    return Presentation(
        title,
        (
            *_ending(deployment),
            f"**Waiting for {_in_text(*held_by)}.** {then}",
            escaped(deployment.reason) if _environments(deployment) or deployment.change.waits.soaks else "",
            _list("Dependencies:", deployment, view),
            _until(deployment, view),
        ),
        "in_progress",
    )


def blocked(deployment: Deployment, view: View) -> Presentation:
    """Return the text of a deployment whose dependencies failed."""
    ending = _ending(deployment)
    if not ending and deployment.gate is not None and deployment.gate.cycle:
        return _in_a_cycle(deployment, view)
    if not ending and deployment.gate is not None and deployment.gate.wave:
        return _after_failures(deployment)
    what = (
        "**Blocked:** a dependency of this deployment was not deployed. Once it is deployed, this deployment "
        "continues automatically."
    )
    failed = _list("Dependencies:", deployment, view) or escaped(deployment.reason)
    return Presentation(
        _blocked_by(view.waited_for),
        (*ending, failed) if ending else (what, failed, *_choices(deployment)),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=() if ending else (RETRY, REJECT) if _can_retry(deployment) else (REJECT,),
    )


def _in_a_wave(deployment: Deployment, why: str, view: View) -> Presentation:
    """Return the text of a deployment that waits until others of its stack have ended."""
    return Presentation(
        f"Waiting for others of stack {_names([deployment.stack])}: {counts_of(deployment)}",
        (
            *_ending(deployment),
            f"**{escaped(why)}** The plan is below. This deployment continues automatically.",
            _until(deployment, view),
        ),
        "in_progress",
    )


def _after_failures(deployment: Deployment) -> Presentation:
    """Return the text of a deployment whose stack does not continue after failures."""
    return Presentation(
        f"Blocked: too many failures in stack {_names([deployment.stack])}",
        (
            (
                f"**Blocked:** {escaped(deployment.reason)} If a retry succeeds, or an operator lets the stack "
                "continue on the page of this change, this deployment continues automatically."
            ),
            *_choices(deployment),
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(RETRY, REJECT) if _can_retry(deployment) else (REJECT,),
    )


def _in_a_cycle(deployment: Deployment, view: View) -> Presentation:
    reject = f"{who_may(deployment, Action.REVIEW)} click **Reject**. {_at_most(deployment)}"
    return Presentation(
        "Blocked: deadlock with other deployments",
        (f"**Blocked.** {escaped(deployment.reason)}", _list("Dependencies:", deployment, view), reject),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(REJECT,),
    )


def _can_retry(deployment: Deployment) -> bool:
    """Tell whether what blocks a deployment can be run again: what is not on the default branch cannot."""
    return deployment.request.pull_request is None


def gate_expired(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a deployment whose wait at the gate expired."""
    if deployment.error == GateBlocked.__name__:
        return Presentation(
            "Waited too many times", (f"**{escaped(deployment.reason)}**",), conclusion=Conclusion.TIMED_OUT
        )
    if deployment.requirements.missing:
        return requirements_expired(deployment)
    on = f" on {moment(deployment.changed_at)}" if deployment.changed_at else ""
    return Presentation(
        "Timed out waiting for dependencies",
        (
            (
                f"**The dependencies were not deployed within {GATE_DAYS} days**, so this deployment ended{on}. "
                f"Nothing was {what_was_not(deployment)}. {escaped(deployment.reason)}"
            ).rstrip(),
            again_after_a_time_out(deployment),
        ),
        conclusion=Conclusion.TIMED_OUT,
    )


def _ending(deployment: Deployment) -> tuple[str, ...]:
    """Return that somebody decided how it ends, if so: that takes a moment to come about."""
    gate = deployment.gate
    if gate is not None and gate.next is AfterGate.REJECTED:
        return (f"**{approval(deployment)}** This deployment is ending.",)
    if yielded(deployment):
        return (
            (
                "**A dependency was queued behind this deployment.** It goes first, and this deployment runs "
                "again after it."
            ),
        )
    if gate is not None and gate.next is AfterGate.SUPERSEDED:
        return ("**Superseded by a newer revision of this root.** This deployment is ending.",)
    return ()


def _gives_way(deployment: Deployment) -> bool:
    return deployment.gate is not None and deployment.gate.next is AfterGate.SUPERSEDED


def _choices(deployment: Deployment) -> tuple[str, ...]:
    """Return what people can do about a blocked deployment, and what ends it otherwise."""
    retry, reject = who_may(deployment, Action.APPLY), who_may(deployment, Action.REVIEW)
    rejecting = (
        f"**Reject** ends this deployment. Nothing is {what_was_not(deployment)}, and later revisions deploy as usual."
    )
    if not _can_retry(deployment):
        asked = "What failed is not merged: comment `tidegate deploy` again, or merge it."
        return asked, f"{rejecting} {reject} click it. {_at_most(deployment)}"
    may = f"{retry} click them." if retry == reject else f"{retry} retry, {_lower(reject)} reject."
    return (
        f"What you can do:\n\n* **Retry** re-runs the failed deployments.\n* {rejecting}",
        f"{may} A newer revision of this root supersedes this deployment. {_at_most(deployment)}",
    )


_HeldBy = tuple[Sequence[str], Sequence[str], Sequence[str]]


def _environments(deployment: Deployment) -> Sequence[str]:
    """Return the environments that the deployment waits for at its gate; its reason says which hold it."""
    if point_of(deployment) is Point.PLAN:
        return ()
    return [each.environment for each in deployment.change.waits.environments]


def _still(deployment: Deployment, held_by: WaitedFor | None) -> _HeldBy:
    """Return the roots of the same stack, the stacks and the environments that the deployment waits for at its gate.

    Roots and stacks that hold it no more are left out, if all that hold it are known.
    """
    waits, environments = deployment.change.waits, _environments(deployment)
    before_plan = point_of(deployment) is Point.PLAN
    roots = waits.roots if before_plan else ()
    stacks = waits.plan_after if before_plan else waits.apply_after
    if held_by is None or held_by.more or not (held_by.named or environments):
        return roots, stacks, environments
    held = {(awaited.root, awaited.stack) for awaited in held_by.named}
    open_stacks = {stack for _, stack in held}
    return (
        tuple(root for root in roots if (root, deployment.stack) in held),
        tuple(stack for stack in stacks if stack in open_stacks),
        environments,
    )


def _in_title(*held_by: Sequence[str]) -> str:
    return _named(held_by, _names)


def _in_text(*held_by: Sequence[str]) -> str:
    return _named(held_by, lambda names: people(tuple(names)))


def _named(held_by: Sequence[Sequence[str]], listing: Callable[[Sequence[str]], str]) -> str:
    """Return names of roots, stacks and environments, each with what they are."""
    kinds = zip(("", "stack", "environment"), held_by, strict=True)
    parts = [f"{_plural(kind, names)}{listing(names)}" for kind, names in kinds if names]
    return " and ".join(parts) or "its dependencies"


def _plural(kind: str, names: Sequence[str]) -> str:
    return f"{kind}{'' if len(names) == 1 else 's'} " if kind else ""


def _blocked_by(held_by: WaitedFor | None) -> str:
    """Return the title of a blocked one: the cause, and not what is only blocked by that as well."""
    named = held_by.named if held_by else ()
    causes = [awaited for awaited in named if awaited.state is not State.BLOCKED]
    names = list(dict.fromkeys(awaited.root for awaited in causes or named))
    if not names:
        return "Blocked: a dependency was not deployed"
    if not causes:
        return f"Blocked: {_names(names)} {_are(len(names))} blocked, too"
    if len(causes) == 1:
        return f"Blocked by {_names(names)}: {_DOES[causes[0].state]}"
    return f"Blocked: {_names(names)} {'was' if len(names) == 1 else 'were'} not deployed"


def _names(names: Sequence[str]) -> str:
    """Return names for a title: of many the first, and how many more there are."""
    return listed([name[:_LONGEST_IN_TITLE] for name in names], _IN_TITLE)


def _list(heading: str, deployment: Deployment, view: View) -> str:
    held_by = view.waited_for
    if held_by is None:
        return ""
    lines = [_line(awaited, deployment) for awaited in held_by.named]
    up_to = "up to " if held_by.at_most else ""
    if held_by.more:
        lines.append(f"* and {up_to}{held_by.more} more")
    listed = f"{heading}\n\n" + "\n".join(lines) if lines else ""
    return "\n\n".join(filter(None, (listed, _others(held_by, up_to))))


def _others(held_by: WaitedFor, up_to: str) -> str:
    """Return how many others there are that do not hold the gate, or not yet."""
    parts = []
    if held_by.under_way:
        parts.append(f"{up_to}{many(held_by.under_way, 'other')} {_are(held_by.under_way)} in progress")
    if held_by.done:
        parts.append(f"{held_by.done} {_are(held_by.done)} already done: deployed, or without changes")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _line(awaited: PendingDependency, deployment: Deployment) -> str:
    name = code(awaited.root, _LONGEST_NAME)
    linked = f"[{name}]({awaited.url})" if awaited.url else name
    where = f" in stack {code(awaited.stack, _LONGEST_NAME)}" if awaited.stack != deployment.stack else ""
    word = " on" if is_final(awaited.state) else ", since"
    since = f"{word} {moment(awaited.since)}" if awaited.since else ""
    return f"* {linked}{where}: {_DOES[awaited.state]}{since}"


def _until(deployment: Deployment, view: View) -> str:
    where = f" on [its page]({view.page_url})" if view.page_url else ""
    return f"**Reject**{where} ends this deployment: nothing is {what_was_not(deployment)}. {_at_most(deployment)}"


def _at_most(deployment: Deployment) -> str:
    gate = deployment.gate
    if gate is None:
        return f"It waits for at most {GATE_DAYS} days."
    until = gate.since + timedelta(days=GATE_DAYS)
    return f"It waits until {moment(until)} at the latest."


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]

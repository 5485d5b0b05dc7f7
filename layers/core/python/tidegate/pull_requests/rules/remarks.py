"""Remarks on a pull request's plans: missing, outdated, or with options."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidegate.deploys.rules.left_behind import stays
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.texts.presentation import people
from tidegate.pull_requests.rules.record import Overtaken
from tidegate.texts.markdown import bounded, code, escaped, prose
from tidegate.texts.sentences import listed

#: The comment that plans all of the pull request again.
PLAN = "`tidegate plan`"
AGAIN = f"Comment {PLAN} to plan again."
#: Groups of roots, and options of one, that are named.
_NAMED = 5
#: Rules that are named.
_RULES = 20
_NAME, _WHY = 100, 400


def older(overtaken: Overtaken | None) -> str:
    """Return which plans are outdated, and what to do; or nothing."""
    if overtaken is None:
        return ""
    names = [code(name, _NAME) for name in overtaken.roots]
    sentence = overtaken.sentence(code(overtaken.base, _NAME), names)
    return f"> [!WARNING]\n> **Out of date:** {sentence} Comment {PLAN} to plan with the new state."


def conflict(layers: Collection[SpeculativePlan]) -> str:
    """Return why head and base cannot be merged, if a plan failed for that reason, in plain text."""
    return next((each.reason for each in layers if each.conflict), "")


def with_options(layers: Sequence[SpeculativePlan]) -> str:
    """Return which layers were planned with options of the engine, or nothing."""
    given: dict[tuple[str, ...], list[str]] = {}
    for each in layers:
        if each.options:
            given.setdefault(each.options, []).append(each.root.name)
    lines = [f"> * {people(tuple(roots))} with {_shown(options)}" for options, roots in list(given.items())[:_NAMED]]
    if not lines:
        return ""
    more = [f"> * and more with {len(given) - _NAMED} others"] if len(given) > _NAMED else []
    head = f"> [!NOTE]\n> **Planned with options**, so this is not the verdict. Comment {PLAN} to get one.\n>"
    return "\n".join((head, *lines, *more))


def rules(changes: Sequence[str]) -> str:
    """Return the pull request's changes to what runs or grants something, and the consequences; or nothing."""
    if not changes:
        return ""
    names = listed([code(each, _NAME) for each in changes], _RULES)
    return (
        f"> [!IMPORTANT]\n> **This changes what runs, or who may do what:** {names}. Plans here use the rules of the "
        "default branch. The merge's plan waits for a review, whatever `plan_review` says."
    )


def left_behind(layers: Sequence[SpeculativePlan], room: int) -> str:
    """Return which resources of removed roots remain, and how to destroy them; or nothing."""
    left = [each for each in layers if each.leaves_resources]
    if not left:
        return ""
    lines = [f"> * {code(each.root.name, _NAME)}: {stays(each.left)}. {escaped(_about(each), _WHY)}" for each in left]
    command = code(f"tidegate destroy -p {left[0].root.name}", 2 * _NAME)
    head = (
        "> [!WARNING]\n> **The merge does not destroy the resources of removed roots.** To destroy them, comment "
        f"{command} here after the merge, or set `destroy: true` for the root and merge that before you delete its "
        "directory.\n>\n"
    )
    return head + bounded(lines, room, lambda count: f"> * … and {count} more.")


def _about(layer: SpeculativePlan) -> str:
    return " ".join(filter(None, (layer.why, layer.reason.partition("\n")[0])))


def not_planned(notice: str, notes: str, room: int) -> str:
    """Return what is not planned, one line each, in ``room`` bytes: what blocks the merge first."""
    lines = [f"* {prose(line)}" for text in (notice, notes) for line in text.splitlines() if line.strip()]
    return f"### Not planned\n\n{bounded(lines, room, lambda count: f'* … and {count} more.')}" if lines else ""


def _shown(options: Sequence[str]) -> str:
    shown = " ".join(code(each, 100) for each in options[:_NAMED])
    return f"{shown} and {len(options) - _NAMED} more" if len(options) > _NAMED else shown

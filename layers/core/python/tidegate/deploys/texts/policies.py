"""Texts about policy sets: the check run of each, and the verdicts on a layer in comments.

Messages of policies are data: they are never markup. What does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, Severity
from tidegate.rules.access import spelled
from tidegate.texts.markdown import code, escaped, one_line, plain, size
from tidegate.vcs.rules.approvals import ToApprove, why_more
from tidegate.vcs.rules.check_run import (
    MAXIMUM_TEXT,
    MAXIMUM_TITLE,
    MOST_ANNOTATIONS,
    Annotation,
    CheckRun,
    Conclusion,
    Level,
)
from tidegate.vcs.rules.pull_request_check_names import policy_check_name

#: Names in a sentence; letters of a message; room that is left for the line which counts the rest.
_NAMED, _MESSAGE, _ROOM = 10, 500, 200
_CONCLUSIONS = {
    SetState.PASSED: Conclusion.SUCCESS,
    SetState.WARNED: Conclusion.NEUTRAL,
    SetState.APPROVED: Conclusion.SUCCESS,
    SetState.FAILED: Conclusion.FAILURE,
    SetState.UNKNOWN: Conclusion.FAILURE,
}
_WORDS = {Severity.DENY: "Denied", Severity.VIOLATION: "Violation", Severity.WARN: "Warning"}
_LEVELS = {Severity.DENY: Level.FAILURE, Severity.VIOLATION: Level.FAILURE, Severity.WARN: Level.WARNING}


def render_policy(standing: Standing, external_id: str, details_url: str | None = None) -> CheckRun:
    """Return the check run of a policy set on a pull request's head."""
    conclusion = _CONCLUSIONS.get(standing.state)
    return CheckRun(
        name=policy_check_name(standing.policy_set.name),
        sha=standing.head,
        external_id=external_id,
        status="completed" if conclusion else "in_progress",
        conclusion=conclusion,
        title=one_line(_title(standing), MAXIMUM_TITLE),
        summary=_fitting([*_explained(standing)], "\n\n", MAXIMUM_TEXT),
        text=_fitting([*_listed(standing)], "\n", MAXIMUM_TEXT),
        details_url=details_url,
        annotations=tuple(_annotations(standing))[:MOST_ANNOTATIONS],
    )


def dismissal(approved: str, wanted: ToApprove, policy_sets: Sequence[str]) -> str:
    """Return why the approval of a commit is dismissed, as plain words: it is of an earlier one, or of another base."""
    names = ", ".join(plain(each) for each in policy_sets[:_NAMED])
    head = wanted.head[:7]
    why = (
        f"This approved {approved[:7]}, and the head is {head} now."
        if approved != wanted.head
        else f"This approved {head} before the base branch became {plain(wanted.base)}."
    )
    return f"{why} Tidegate's policy {names} blocks its plan: review that plan, and approve again."


def status_lines(policy_statuses: Iterable[Standing]) -> tuple[str, ...]:
    """Return who lets pass what sets refuse, and whose approval does not count, as items of a list in Markdown."""
    return tuple(line for each in policy_statuses for line in _approved_lines(each))


def verdict_lines(verdicts: Iterable[PolicyVerdict]) -> tuple[str, ...]:
    """Return what sets say of one plan as items of a list in Markdown, what blocks first; passed sets in one item."""
    verdicts = tuple(verdicts)
    lines = [line for verdict in verdicts if verdict.failed for line in _of_verdict(verdict)]
    lines += [line for verdict in verdicts if not verdict.failed and verdict.findings for line in _of_verdict(verdict)]
    silent = [code(verdict.policy_set) for verdict in verdicts if not verdict.failed and not verdict.findings]
    return (*lines, f"- Passed: {_some(silent)}") if silent else tuple(lines)


def _approved_lines(standing: Standing) -> Iterator[str]:
    if standing.state not in {SetState.FAILED, SetState.APPROVED} or not standing.policy_set.owners:
        return
    by = _some([code(each) for each in standing.approved_by])
    name, needed = code(standing.policy_set.name), standing.needed
    if standing.state is SetState.APPROVED:
        yield f"* Policy set {name} no longer blocks: approved by {by}."
        return
    if standing.approved_by:
        yield f"* Policy set {name}: approved by {by}, {len(standing.approved_by)} of {_count(needed, 'approval')}."
    for each in standing.disregarded[:_NAMED]:
        yield f"* The approval of {code(each.by)} does not count for {name}: {code(each.by)} {escaped(each.reason)}."


def policy_blocked_by(standing: Standing) -> str:
    """Return that a set holds up the merge, as the title of its check says it."""
    return f"Policy set {code(standing.policy_set.name)} blocks the merge: {one_line(_title(standing), _MESSAGE)}."


def _without_verdict(standing: Standing) -> Iterator[str]:
    """Yield which plans are not held against the set, and why."""
    if standing.state is SetState.WAITING:
        yield f"Plans not evaluated yet: {_some([_root(layer) for layer in standing.missing])}."
        return
    found: dict[str, list[str]] = {}
    for layer in standing.missing:
        found.setdefault(_why_none(layer), []).append(_root(layer))
    for why, roots in found.items():
        yield f"No verdict on {_some(roots)}: {why}."


def _why_none(layer: SpeculativePlan) -> str:
    if layer.options:
        return "it was planned with options, and such a plan gets no verdict. Comment `tidegate plan`"
    if layer.state in {LayerState.PLANNED, LayerState.NO_CHANGES}:
        return "the policy check itself failed. Comment `tidegate plan`"
    return "there is no plan to evaluate"


def _title(standing: Standing) -> str:
    held, failing = standing.policy_set, _failing(standing)
    match standing.state:
        case SetState.WAITING:
            return "Waiting for plans"
        case SetState.PASSED:
            return "Passed"
        case SetState.WARNED:
            return f"Passed, with {_count(_warnings(standing), 'warning')}"
        case SetState.APPROVED:
            return f"Approved by {', '.join(standing.approved_by)}"
        case SetState.UNKNOWN:
            return f"No verdict on {_count(len(standing.missing), 'root')}"
    lacking = standing.needed - len(standing.approved_by)
    needed = f": {_count(lacking, 'approval')} needed" if held.owners else ""
    return f"Blocks {_count(len(failing), 'plan')}{needed}" if failing else f"Changes the rules{needed}"


def _explained(standing: Standing) -> Iterator[str]:
    held = standing.policy_set
    failing = _failing(standing)
    if failing:
        roots = _some([_root(layer) for layer, _ in failing])
        yield f"The policy set {code(held.name)} blocks the {'plan' if len(failing) == 1 else 'plans'} of {roots}."
    if standing.rules:
        changes = _some([code(each) for each in standing.rules])
        yield f"This changes what runs or who may do what: {changes}. Owners of policy sets must approve that."
    if failing or standing.rules:
        yield _approving(standing)
    elif standing.state in {SetState.PASSED, SetState.WARNED}:
        yield f"The policy set {code(held.name)} blocks none of {_count(len(standing.judged), 'plan')}."
    if standing.missing:
        yield from _without_verdict(standing)
    if (failing or standing.rules) and standing.disregarded:
        yield "\n".join(
            ["These approvals do not count:", ""]
            + [f"- {code(each.by)} {escaped(each.reason)}" for each in standing.disregarded[:_NAMED]]
            + _more(len(standing.disregarded) - _NAMED)
        )


def _approving(standing: Standing) -> str:
    held = standing.policy_set
    by = f" {_some([code(each) for each in standing.approved_by])} approved." if standing.approved_by else ""
    if standing.state is not SetState.FAILED:
        return f"Its owners approved it:{by}"
    if not held.owners:
        return "It has no owners who can approve it. Change the code, or the policy on the default branch."
    failing = _failing(standing)
    change = "Change the code so that the plan passes, or ask" if failing else "Ask"
    if failing and all(verdict.error for _, verdict in failing):
        change = (
            "The policy set could not be evaluated. Correct the policies on the default branch as the error "
            "says, or ask"
        )
    return (
        f"{change} for a review: {_count(standing.needed, 'approval')} of the "
        f"current head {code(standing.head[:7])} by {_owners(standing)} {'is' if standing.needed == 1 else 'are'} "
        f"needed.{_why_more(standing)}{by} Approvals by the author, by whoever made or pushed one of the commits, of "
        "earlier commits, or for another base branch do not count."
    )


def _why_more(standing: Standing) -> str:
    if standing.made_by.known:
        return ""
    return f" {why_more(standing.made_by, standing.policy_set.owners, standing.needed)}"


def _owners(standing: Standing) -> str:
    names = [code(each) if spelled(each) == each else spelled(each) for each in standing.policy_set.owners]
    among = "" if standing.needed == 1 else "different people among "
    return among + _some(names, " or ")


def _listed(standing: Standing) -> Iterator[str]:
    for layer, verdict in sorted(standing.judged, key=lambda each: not each[1].failed):
        if verdict.error or verdict.findings:
            yield f"### {_root(layer)}\n"
            yield from _of_verdict(verdict, named=False)
            yield ""


def _of_verdict(verdict: PolicyVerdict, *, named: bool = True) -> Iterator[str]:
    """Yield an item for each finding: errors, what blocks, warnings, and what exceptions allow."""
    of = f" ({code(verdict.policy_set)})" if named else ""
    if verdict.error:
        place = (
            f" in {code(f'{verdict.file}:{verdict.line}' if verdict.line else verdict.file)}" if verdict.file else ""
        )
        yield f"- **Error**{of}{place}: {escaped(verdict.error, _MESSAGE)}"
    for finding in sorted(verdict.findings, key=_weight):
        yield _of_finding(finding, of)
    if verdict.omitted:
        yield f"- {verdict.omitted} more{of} are not shown."


def _of_finding(finding: PolicyFinding, of: str) -> str:
    word = f"~~{_WORDS[finding.severity]}~~" if finding.exempted_by else f"**{_WORDS[finding.severity]}**"
    about = f" {code(finding.address)}" if finding.address else ""
    exempt = f", exempted by {code(finding.exempted_by)}" if finding.exempted_by else ""
    return f"- {word}{of}{about}: {escaped(finding.message, _MESSAGE)} ({code(finding.rule)}{exempt})"


def _weight(finding: PolicyFinding) -> tuple[bool, bool]:
    return bool(finding.exempted_by), not finding.blocks


def _annotations(standing: Standing) -> Iterator[Annotation]:
    title = one_line(policy_check_name(standing.policy_set.name), MAXIMUM_TITLE)
    for layer, verdict in sorted(standing.judged, key=lambda each: not each[1].failed):
        if verdict.error and _is_path(verdict.file) and verdict.line:
            yield Annotation(verdict.file, verdict.line, Level.FAILURE, title, _note(layer, verdict.error))
        for finding in sorted(verdict.findings, key=_weight):
            if _is_path(finding.file) and finding.line and not finding.exempted_by:
                level = _LEVELS[finding.severity]
                yield Annotation(finding.file, finding.line, level, title, _note(layer, finding.message))


def _note(layer: SpeculativePlan, message: str) -> str:
    name = layer.root.name if layer.stack == DEFAULT_STACK else f"{layer.root.name} ({layer.stack})"
    return plain(f"{name}: {message[:_MESSAGE]}")


def _is_path(text: str) -> bool:
    """Tell whether a text from a policy can be a file of the repository."""
    return bool(text) and text.isprintable() and not text.startswith("/") and ".." not in text.split("/")


def _failing(standing: Standing) -> list[tuple[SpeculativePlan, PolicyVerdict]]:
    return [(layer, verdict) for layer, verdict in standing.judged if verdict.failed]


def _warnings(standing: Standing) -> int:
    return sum(
        each.severity is Severity.WARN and not each.exempted_by
        for _, verdict in standing.judged
        for each in verdict.findings
    )


def _root(layer: SpeculativePlan) -> str:
    name = code(layer.root.name)
    return name if layer.stack == DEFAULT_STACK else f"{name} of stack {code(layer.stack)}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _some(names: Sequence[str], joined: str = ", ") -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return joined.join(names[:_NAMED]) + more


def _more(number: int) -> list[str]:
    return [f"- {number} more"] if number > 0 else []


def _fitting(parts: Sequence[str], joined: str, most: int) -> str:
    """Return as many parts as fit, and how many there are besides."""
    shown: list[str] = []
    used = 0
    for number, part in enumerate(parts):
        used += size(part) + len(joined)
        if used > most - _ROOM:
            return joined.join([*shown, "", f"{len(parts) - number} more lines are not shown."])
        shown.append(part)
    return joined.join(shown).strip("\n")

"""Find the roots that a pull request affects, by git and by the default branch's configuration, as layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidegate.changes.rules.change_set import Key, stack_layers
from tidegate.changes.rules.waits import Waits
from tidegate.config.model.file import FILE
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.config.rules.plan_options import with_options
from tidegate.config.trust import required
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.discovery.repository_source import Granted, read_granted
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.save_policies import save_policies_of_pull_request
from tidegate.policies.rules.apply_requirements import FORK
from tidegate.policies.rules.policy import PolicySetStatus, RuleChanges
from tidegate.ports import Ports
from tidegate.pull_requests.plannable_roots import Plannable, PlannableFinder
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.roots.rules.root import layer_id
from tidegate.rules.errors import CyclicChange, InvalidConfiguration, NotFound, quoted
from tidegate.texts.markdown import one_line
from tidegate.vcs.rules.pull_request import PullRequestSpec

#: Layers of one pull request at most: an execution's history has 25,000 events, and each layer takes up to 60, and 11
#: more if it waits for a slot.
MOST_LAYERS = 400
#: Sentences of one kind in a record, and characters of each: comments show fewer, and a directory may be long.
MOST_LINES, MOST_LETTERS = 200, 400

_DRAFT = "It is a draft: it is planned once it is ready for review. To plan it now, comment `tidegate plan`."
_GUARDED = "The default branch has policy sets, so the check blocks the merge until they have evaluated its plans."
_UNRELATED = "The branch and its base branch have no commit in common. Rebase the branch."
_BY_HAND = "To plan roots that are not planned automatically, comment `tidegate plan`."

_DEFAULT_BRANCH = "The default branch's tidegate.yaml is invalid. Tidegate plans nothing until a merge corrects it."
_OWN = "Its tidegate.yaml is invalid. Correct it and push."

_MORE_PREVIEW = (
    "This is the first tidegate.yaml here, so all roots are shown, except for {} more. The merge deploys none of them."
)
_ASKED_FOR = "Planned on request. The merge does not deploy it."


@dataclass(frozen=True, slots=True)
class Affected:
    """What a pull request affects. ``notice`` says in sentences, a line each, what cannot be planned, and why.

    ``notes`` say so of what is left out on purpose, ``skipped`` tells that it is not planned as long as it is a draft,
    ``pressing`` that the notice is to be commented also if there are no layers. ``guarded`` tells that policy sets
    would judge what is not planned. ``rules`` say where it is applied. ``examined`` tells that the head's own file
    was read, ``mistakes`` are those of it. ``rule_changes`` are what it changes of what runs or grants something,
    ``warnings`` sentences on what of its file fits nothing.
    """

    layers: tuple[SpeculativePlan, ...] = ()
    notice: str = ""
    notes: str = ""
    skipped: bool = False
    pressing: bool = False
    guarded: bool = False
    rules: ApplyRules = field(default_factory=ApplyRules)
    examined: bool = False
    mistakes: InvalidConfiguration | None = None
    rule_changes: RuleChanges = field(default_factory=RuleChanges)
    warnings: tuple[str, ...] = ()


def find_affected(
    ports: Ports, record: PullRequestRecord, at: datetime, layers: Sequence[SpeculativePlan] = ()
) -> Affected:
    """Return what a pull request affects as of ``at``. ``layers`` are those that it has had.

    Automatic ones stay if they are of the same commits and have ended. Raise NotFound if the VCS provider no longer has
    its head, ForgeUnavailable and ForgeRefused.
    """
    try:
        if record.spec.from_fork:
            return _of_fork(ports, record.spec)
        return _granted(ports, record, at, layers)
    except CyclicChange as error:
        return Affected(notice=str(error), pressing=True, guarded=True)
    except InvalidConfiguration as error:
        lead = _DEFAULT_BRANCH if error.file == FILE else ""
        return Affected(notice=_mistakes(lead, error), pressing=True, guarded=True)


def _of_fork(ports: Ports, spec: PullRequestSpec) -> Affected:
    """Return that nothing of a fork is run. Only the default branch is read."""
    granted = read_granted(ports, spec.repository, spec.branch, spec.base)
    guarded = bool(granted.configuration.policy_sets)
    return Affected(notice=_unplanned(FORK, guarded=guarded), pressing=True, guarded=guarded)


def _granted(ports: Ports, record: PullRequestRecord, at: datetime, layers: Sequence[SpeculativePlan]) -> Affected:
    spec = record.spec
    granted = read_granted(ports, spec.repository, spec.branch, spec.base)
    if spec.is_draft and record.request is None and not granted.configuration.pull_requests.drafts:
        guarded = bool(granted.configuration.policy_sets)
        return Affected(notice=_unplanned(_DRAFT, guarded=guarded), skipped=True, guarded=guarded)
    if not granted.is_destination:
        return Affected(notice=elsewhere(spec.branch, spec.base))
    try:
        plannable = _plannable(ports, record, granted)
    except InvalidConfiguration as error:
        notice = _mistakes(_OWN, error)
        return Affected(notice=notice, pressing=True, guarded=True, examined=True, mistakes=error)
    if plannable is None:
        return Affected(notice=_UNRELATED, pressing=True)
    known = _kept(record, layers)
    plannable, missing = _fitting(plannable, known)
    wanted = _wanted(record, plannable, known)
    number = len({*known, *(each.member.key for each in wanted)})
    if number > MOST_LAYERS:
        return Affected(notice=_too_many(number), pressing=True, examined=True)
    held = save_policies_of_pull_request(ports, spec, granted, wanted)
    anew = [_layer(record, granted, each, plannable, at) for each in wanted]
    made = {_key(each): replace(each, policy_sets=() if each.gone else held.get(_key(each), ())) for each in anew}
    refused = plannable.found.refused
    found = _in_order({**known, **made}, plannable)
    rules = granted.configuration.applying
    return Affected(
        found,
        _kept_lines(refused),
        "\n".join(filter(None, (missing, _notes(plannable)))),
        pressing=bool(refused),
        rules=rules,
        examined=True,
        rule_changes=_rule_changes(granted, plannable.found.rule_changes),
        warnings=plannable.found.warnings,
    )


def _plannable(ports: Ports, record: PullRequestRecord, granted: Granted) -> Plannable | None:
    """Return what can be planned, None if head and base have no common history."""
    spec = record.spec
    try:
        change = ports.commits.change(spec.repository, spec.base_sha, spec.head_sha)
    except NotFound:
        return None
    plannable = PlannableFinder(ports, granted).find(spec, change.after, record.request)
    return replace(plannable, fork_sha=change.fork_sha)


def _unplanned(why: str, *, guarded: bool) -> str:
    return f"{why} {_GUARDED}" if guarded else why


def elsewhere(branch: str, base: str) -> str:
    """Return that pull requests between these branches are not planned."""
    return (
        f"Changes from {quoted(branch)} to {quoted(base)} are not planned. "
        "The key destination_branches of the default branch's tidegate.yaml names the branches to plan for."
    )


def _notes(plannable: Plannable) -> str:
    found = plannable.found
    return "\n".join(filter(None, (_kept_lines(found.notes), _BY_HAND if found.kept else "")))


def _mistakes(lead: str, error: InvalidConfiguration) -> str:
    return _kept_lines([*filter(None, [lead]), *map(str, (error, *error.others))])


def _kept_lines(sentences: Sequence[str]) -> str:
    """Return the first sentences, one per line, and how many more there are."""
    lines = [one_line(each, MOST_LETTERS) for each in sentences[:MOST_LINES]]
    more = len(sentences) - len(lines)
    return "\n".join([*lines, f"There are {more} more of these."] if more else lines)


def _kept(record: PullRequestRecord, layers: Sequence[SpeculativePlan]) -> dict[Key, SpeculativePlan]:
    """Return the layers that stay: ended ones of the same commits, if only some roots are requested."""
    if record.request is None or not record.request.is_partial:
        return {}
    spec = record.spec
    return {
        _key(each): each
        for each in layers
        if each.is_done
        and each.state is not LayerState.CANCELLED
        and (each.sha, each.base_sha) == (spec.head_sha, spec.base_sha)
    }


def _rule_changes(granted: Granted, changes: tuple[str, ...]) -> RuleChanges:
    """Return the changes to rules, and the default branch's policy sets whose owners must approve them."""
    sets = granted.configuration.policy_sets if changes else ()
    asked = (PolicySetStatus(each.name, owners=each.owners, approvals=each.approvals) for each in sets if each.owners)
    return RuleChanges(changes, tuple(asked))


def _fitting(plannable: Plannable, known: Collection[Key]) -> tuple[Plannable, str]:
    """Return it with as much of the preview as fits one execution, and a notice about the rest."""
    others = {*known, *(each.member.key for each in (*plannable.found.members, *plannable.hidden, *plannable.gone))}
    room = max(0, MOST_LAYERS - len(others))
    shown, more = plannable.preview[:room], len(plannable.preview) - room
    return replace(plannable, preview=shown), _MORE_PREVIEW.format(more) if more > 0 else ""


def _wanted(record: PullRequestRecord, plannable: Plannable, known: Collection[Key]) -> Sequence[Deployable]:
    """Return what to plan: requested roots, and automatic ones without a plan."""
    chosen = {each.member.key for each in plannable.chosen(record.request)} if record.request else set()
    by_itself = {each.member.key for each in plannable.by_itself}.difference(known)
    return [each for each in plannable.members if each.member.key in chosen | by_itself]


def _in_order(layers: Mapping[Key, SpeculativePlan], plannable: Plannable) -> tuple[SpeculativePlan, ...]:
    """Return layers in the order in which a merge deploys them; earlier requested ones come last."""
    order = dict.fromkeys((*(each.member.key for each in plannable.members), *layers))
    return tuple(layers[key] for key in order if key in layers)


def _key(layer: SpeculativePlan) -> Key:
    return layer.root.name, layer.stack


def _too_many(number: int) -> str:
    return (
        f"This change affects {number} roots, counted per stack. The limit is {MOST_LAYERS}, so nothing is planned. "
        "Split the change."
    )


def _layer(
    record: PullRequestRecord, granted: Granted, each: Deployable, plannable: Plannable, at: datetime
) -> SpeculativePlan:
    spec, member, configured, rules = record.spec, each.member, each.configured, granted.configuration.pull_requests
    is_chosen = record.request is not None and record.request.chooses(member.root.name, configured.tagged)
    options = record.request.options if record.request is not None and is_chosen else ()
    is_extra = all(other.member.key != member.key for other in plannable.found.members)
    merged = plannable.found.configuration
    must = required(merged, configured.tagged)
    first, last = stack_layers(other.member for other in plannable.found.members).get(member.stack, (1, 1))
    return SpeculativePlan(
        layer_id(spec.id, member.root.name, member.stack, spec.revision, record.attempt),
        spec.repository,
        spec.number,
        member.root,
        spec.head_sha,
        spec.base_sha,
        member.stack,
        configured.shared,
        rules.checkout,
        rules.allowed_providers,
        rules.allowed_modules,
        _ASKED_FOR if each in plannable.extra else member.why,
        tier=1 if is_extra else member.layer - first + 1,
        tiers=1 if is_extra else last - first + 1,
        waits=Waits() if is_extra else member.waits,
        review=configured.review_rule,
        access=configured.access,
        run=with_options(configured.run, options),
        changed_at=at,
        is_extra=is_extra,
        options=options,
        fork_sha=plannable.fork_sha,
        within=configured.within,
        tags=configured.tags,
        gone=each in plannable.gone,
        destroy=configured.destroy and each not in plannable.gone,
        requires=() if must is None else tuple(wanted for wanted in must if wanted.demands),
        unmatched=must is None,
        freezes=tuple(window for window in merged.freezes if window.is_ahead(at) and window.matches(configured.tagged)),
    )

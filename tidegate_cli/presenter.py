"""Output about repositories, roots and deployments, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tidegate.deploys.rules.left_behind import stays
from tidegate.deploys.rules.needs import Need, needs, runs
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.texts.advice import REPLACED_SENTENCE, advice
from tidegate.plans.rules.cost import PlanCost, difference_text
from tidegate.plans.rules.counts import counts, each_count
from tidegate.vcs.rules.forge_terms import terms_of
from tidegate_cli import screen

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console, ConsoleOptions

    from tidegate.web.models import (
        Changes,
        CostModel,
        DependencyModel,
        DeploymentBrief,
        DeploymentDetails,
        HeadlineModel,
        LockModel,
        PlaceModel,
        ReplacementModel,
        RepositoryModel,
        RootModel,
        StepModel,
    )
    from tidegate.web.pull_request_models import LayerModel

#: Columns from which a list of deployments is a table.
_WIDE = 120
#: Deployments that are named of those that one waits for, and repositories that need somebody.
_NAMED = 5
#: States that a deployment can be run again from. Of the others that can, somebody wanted them to end.
_RUN_AGAIN = {"plan_failed", "apply_failed", "engine_fault", "review_expired", "gate_expired"}
#: Kinds of changes that lose a resource.
_LOSES = {"destroy", "replace"}
_COUNTS = ["ROOTS", "RUNNING", "REVIEW", "FAILED", "BLOCKED", "WAITING", "LOCKED"]


def changes(planned: Changes | None) -> Text:
    """Return a plan's counts: what it destroys and replaces stands out."""
    if planned is None:
        return Text("")
    named = [Text(each.text, "bold red" if each.kind in _LOSES else "") for each in each_count(planned)]
    return Text(", ").join(named) if named else Text(counts(planned))


def planned(shown: DeploymentBrief | LayerModel) -> Text:
    """Return a plan's counts, and its cost if a step states it."""
    text = changes(shown.changes)
    return Text.assemble(text, f"; {_difference(shown.cost)}") if shown.changes and shown.cost else text


def _difference(cost: CostModel) -> str:
    return difference_text(PlanCost(cost.currency, 0, round(Decimal(cost.difference) * 100), problem=cost.problem))


def _cost(cost: CostModel | None) -> str:
    if cost is None:
        return ""
    return (
        f"not known: {cost.problem}" if cost.problem else f"{_difference(cost)}, {cost.monthly} {cost.currency} in all"
    )


def person(by: str | None, at: datetime | None) -> str:
    """Return who and how long ago."""
    when = screen.ago(at) if at else ""
    return ", ".join(filter(None, (by, when)))


def indented(text: str) -> Iterator[RenderableType]:
    """Return a paragraph, set in."""
    if text:
        yield Padding(screen.text(text), (0, 0, 0, 2), expand=False)


def command(line: str) -> Text:
    """Return what to type next. It is never folded, so that it can be copied."""
    return unfolded(f"  → {line}", "cyan")


def unfolded(line: str, style: str = "") -> Text:
    """Return a line that is never folded or cut: an id or an address that people copy."""
    text = screen.text(line, style)
    text.no_wrap, text.overflow = True, "ignore"
    return text


def repositories(shown: Sequence[tuple[RepositoryModel, Sequence[RootModel]]]) -> RenderableType:
    """Return all repositories with counts of their roots, and how to see the first of those that need somebody."""
    table = screen.table("REPOSITORY", *_COUNTS, right=_COUNTS, whole=["REPOSITORY"])
    for repository, its in shown:
        needed = Counter(need for root in its for need in _needs_of(root))
        table.add_row(
            screen.text(repository.name),
            str(len(its)),
            _count(sum(runs(_running(root)) for root in its)),
            _count(needed[Need.REVIEW] + needed[Need.REQUIREMENTS], "bold magenta"),
            _count(needed[Need.FAILED], "bold red"),
            _count(needed[Need.BLOCKED], "bold red"),
            _count(sum(root.waiting for root in its)),
            _count(needed[Need.LOCKED], "bold red"),
        )
    needing = [repository.name for repository, its in shown if any(map(_needs_of, its))]
    return Group(table, Text(), *(command(f"tidegate status {name}") for name in needing[:_NAMED] or ["OWNER/NAME"]))


def _needs_of(root: RootModel) -> tuple[Need, ...]:
    return needs(_running(root), root.last.state if root.last else None, locked=root.lock is not None)


def _running(root: RootModel) -> str | None:
    return root.running.state if root.running else None


def _count(number: int, style: str = "") -> Text:
    return Text(str(number), style) if number else Text("-", "dim")


def roots(repository: str, shown: Sequence[RootModel], query: str = "", hint: str = "") -> RenderableType:
    """Return the roots of a repository, and below them what needs a person."""
    if not shown and query:
        return screen.text(f"No root of {repository} matches. {hint}".rstrip())
    if not shown:
        return screen.text(f"{repository} has no roots yet: they appear with the first push to the default branch.")
    stacks = any(set(root.stacks) - {"default"} for root in shown)
    tags = any(root.tags for root in shown)
    columns = ("ROOT", *(["STACK"] if stacks else []), *(["TAGS"] if tags else []), "STATE", "REVISION", "WAITING")
    spare = ["STACK", "TAGS", "TITLE"]
    table = screen.table(*columns, "CHANGED", "TITLE", right=["WAITING"], whole=["ROOT", "STATE"], spare=spare)
    for root in shown:
        now = root.running or root.last
        table.add_row(
            screen.text(root.name, "bold"),
            *([screen.text(", ".join(root.stacks))] if stacks else []),
            *([screen.text(", ".join(root.tags))] if tags else []),
            _state(root),
            screen.text(now.revision[:7] if now else ""),
            _count(root.waiting),
            screen.ago(now.changed_at or now.requested_at) if now else "",
            screen.text(headline(now.headline) if now else ""),
        )
    needed = [line for root in shown for line in _needs(repository, root)]
    return Group(table, *needed)


def _state(root: RootModel) -> Text:
    now = root.running or root.last
    state = screen.state(now.state) if now else Text("never deployed", "dim")
    if root.running is None and (root.destroyed or root.orphaned):
        state = Text("destroyed", "dim") if root.destroyed else Text("gone", "bold yellow")
    return Text.assemble(state, (", locked", "bold red")) if root.lock else state


def _needs(repository: str, root: RootModel) -> Iterator[RenderableType]:
    found = _needs_of(root)
    if root.lock:
        yield Text()
        what = f" is locked, with {locked_scope(root.lock)}, by " if root.lock.scope else " is locked by "
        who = f"{person(root.lock.by, root.lock.at)}{lock_end(root.lock)}."
        yield Text.assemble(screen.text(root.name, "bold"), screen.text(what), who)
        yield from indented(root.lock.reason)
        yield command(unlocking(repository, root.name, root.lock))
    if root.running and Need.REVIEW in found:
        yield Text()
        yield Text.assemble(screen.text(root.name, "bold"), " waits for review: ", planned(root.running))
        yield command(f"tidegate approve {root.running.id}")
    if root.running and Need.REQUIREMENTS in found:
        yield Text()
        yield Text.assemble(screen.text(root.name, "bold"), " waits: ", screen.text(root.running.reason))
        yield command(f"tidegate status {root.running.id}")
    if root.running and Need.BLOCKED in found:
        yield Text()
        yield Text.assemble(screen.text(root.name, "bold"), " is blocked: ", screen.text(root.running.reason))
        yield command(f"tidegate stacks {root.running.change_set or root.running.id}")
    if root.last and Need.FAILED in found:
        yield from _failure(root.last)
    if root.orphaned and root.running is None:
        yield Text()
        left = stays(root.orphaned.resources)
        yield Text.assemble(screen.text(root.name, "bold"), f" is gone from the default branch: {left}.")
        yield command(f"tidegate destroy {repository} {root.name}")


def locked_scope(lock: LockModel) -> str:
    """Return what a lock is of, if it is of more than one root."""
    return "" if not lock.scope else "all roots" if lock.scope == "*" else f"stack {lock.scope}"


def lock_end(lock: LockModel) -> str:
    """Return until when a lock holds, if it ends by itself."""
    return f", until {screen.moment(lock.expires_at)} UTC" if lock.expires_at else ""


def unlocking(repository: str, root: str, lock: LockModel) -> str:
    """Return the command line that takes a lock away."""
    many = "--all" if lock.scope == "*" else f"--stack {lock.scope}"
    return f"tidegate unlock {repository} {many if lock.scope else root}"


def _failure(last: DeploymentBrief) -> Iterator[RenderableType]:
    """Yield why the newest deployment of a root failed, and what to do about it."""
    yield Text()
    yield Text.assemble(screen.text(last.root, "bold"), ": ", screen.state(last.state))
    yield from indented(last.reason.partition("\n")[0])
    yield from indented(advice(last.state, last.error, command="the same command" if _is_of_head(last) else ""))
    yield command(f"tidegate status {last.id}")
    yield from _rerunning(last)


def _is_of_head(shown: DeploymentBrief) -> bool:
    """Tell whether a deployment is of a pull request's head, whose comment is repeated instead of a re-run."""
    return shown.trigger == Trigger.MANUAL and shown.pull_request is not None


def _rerunning(shown: DeploymentBrief) -> Iterator[RenderableType]:
    """Yield how to run again what failed or expired."""
    if shown.state in _RUN_AGAIN and not _is_of_head(shown):
        yield command(f"tidegate rerun {shown.id}")


def deployments(listed: Sequence[DeploymentBrief], *, with_repository: bool, hint: str = "") -> RenderableType:
    """Return deployments, one a line; on a narrow terminal each in several, so that nothing is cut."""
    if not listed:
        return screen.text(f"There are no such deployments. {hint}".rstrip())
    return Group(_Listed(listed, with_repository), Text(), command("tidegate show ID"))


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list that knows the width only when it is printed."""

    deployments: Sequence[DeploymentBrief]
    with_repository: bool

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if options.max_width < _WIDE:
            for one in self.deployments:
                name = f"{one.repository} · {one.root}" if self.with_repository else one.root
                yield Text.assemble(screen.state(one.state), "  ", screen.text(name, "bold"))
                yield screen.text(f"  {what(one)}, {screen.ago(one.requested_at)}")
                yield unfolded(f"  {one.id}", "dim")
            return
        names = ["REPOSITORY"] if self.with_repository else []
        table = screen.table("STATE", *names, "ROOT", "ID", "ASKED FOR", "WHAT", whole=["STATE", "ID", "ASKED FOR"])
        for one in self.deployments:
            repository = [screen.text(one.repository)] if self.with_repository else []
            root, asked = screen.text(one.root, "bold"), screen.ago(one.requested_at)
            table.add_row(
                screen.state(one.state), *repository, root, screen.text(one.id), asked, screen.text(what(one))
            )
        yield table


def what(one: DeploymentBrief) -> str:
    """Return what a deployment deploys: its commit, the title of its pull request or commit, and its author.

    Of one that somebody asked for, it is who asked.
    """
    author = one.headline.author if one.headline and one.trigger == Trigger.MERGE else ""
    destroys = "destroy" if one.destroy else ""
    told = (
        one.revision[:7],
        one.pull_request_reference,
        destroys or headline(one.headline),
        author or one.requested_by,
    )
    return "  ".join(filter(None, told))


def headline(told: HeadlineModel | None) -> str:
    """Return what to call a change: the title of its pull request, or else of its commit; empty if nobody told."""
    return told.pull_request_title or told.title if told else ""


def waiting(known: Sequence[DeploymentBrief], seconds: float) -> Text:
    """Return what a command waits for, in a line that is shown until it ends."""
    left = [one for one in known if not screen.is_final(one.state)]
    named = [f"{one.root} ({screen.state_word(one.state)})" for one in left[:_NAMED]]
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    minutes, rest = divmod(int(seconds), 60)
    done = f"{len(known) - len(left)} of {len(known)} ended, {minutes}:{rest:02} min. "
    return screen.text(f"{done}Waiting for {', '.join(named)}{more}. Ctrl-C only stops the waiting.")


def title(shown: DeploymentBrief) -> Text:
    """Return a deployment in a line: state, root, revision."""
    return Text.assemble(
        screen.state(shown.state),
        "  ",
        screen.text(shown.root, "bold"),
        f"  {shown.revision[:7]}",
        ("  destroy", "bold red") if shown.destroy else "",
        screen.text(f"  {named}") if (named := headline(shown.headline)) else "",
    )


def made(shown: DeploymentBrief, check_run: str | None = None) -> RenderableType:
    """Return a deployment that was made just now, with where to look."""
    addresses = [unfolded(f"  {line}", "dim") for line in (shown.id, check_run or shown.url) if line]
    return Group(title(shown), *addresses)


def deployment(shown: DeploymentDetails) -> RenderableType:
    """Return one deployment with all that is known of it."""
    asked = f"{trigger(shown)} by {shown.requested_by}, {screen.moment(shown.requested_at)} UTC"
    forced, reference = ", forced" if shown.forced else "", shown.pull_request_reference or ""
    parts: list[RenderableType] = [
        Text.assemble(
            state_of(shown, shown.replaced_by), "  ", screen.text(f"{shown.repository} · {shown.root}", "bold")
        ),
        *indented(shown.reason),
        *indented(REPLACED_SENTENCE.format(shown.replaced_by.revision[:7]) if shown.replaced_by else ""),
        Text(),
        screen.facts(
            [
                ("Title", headline(shown.headline)),
                ("Author", shown.headline.author if shown.headline else ""),
                ("Id", shown.id),
                ("Revision", " on ".join(filter(None, (shown.revision, shown.branch)))),
                ("Asked for", asked + forced),
                ("Stack", stack(shown) if shown.change_set else ""),
                ("Layer", f"{shown.layer} of {shown.layers}" if shown.layers > 1 else ""),
                ("Change", shown.change_set or ""),
                ("Waits for", awaited(shown.gated_by, shown.stack)),
                (terms_of(reference).pull_request.capitalize(), reference),
                ("Plan", changes(shown.changes)),
                ("Cost", _cost(shown.cost)),
                *(("Refused", sentence) for sentence in shown.policies_refuse if shown.state == "awaiting_review"),
                ("Review", _review(shown)),
                *(("Missing", sentence) for sentence in shown.requirements.missing if _lacks(shown)),
                ("Approved here", ", ".join(each.by for each in shown.requirements.approved_here)),
                ("Overridden", _overridden(shown)),
                (_cancelled(shown), shown.cancelled.by if shown.cancelled else ""),
                ("Check run", shown.check_run_url or ""),
                ("Page", shown.url),
                *((f"Log of {job.kind}", job.id) for job in shown.jobs),
            ]
        ),
    ]
    if shown.history:
        parts += [Text(), _timeline(shown.history)]
    if shown.last_lines:
        parts += [Text(), Text("Last lines", "bold"), *(screen.text(line) for line in shown.last_lines.splitlines())]
    steps = list(next_steps(shown, has_log=bool(shown.jobs), approvable=shown.requirements.approvable))
    steps += () if shown.replaced_by else _rerunning(shown)
    return Group(*parts, *([Text(), *steps] if steps else []))


def trigger(shown: DeploymentBrief | PlaceModel) -> str:
    """Return what asked for a deployment, and that it destroys, if it does."""
    return f"{shown.trigger}, to destroy" if shown.destroy else shown.trigger


def state_of(shown: DeploymentBrief, replaced_by: ReplacementModel | None) -> Text:
    """Return a deployment's state; what is deployed in its place needs nobody, and has no colour that says so."""
    state = screen.state(shown.state)
    return Text(state.plain, "dim") if replaced_by else state


def stack(shown: DeploymentBrief) -> str:
    """Return the stack of a deployment, with its stack groups."""
    return f"{shown.stack} ({', '.join(shown.within)})" if shown.within else shown.stack


def next_steps(shown: DeploymentBrief, *, has_log: bool, approvable: bool = True) -> Iterator[RenderableType]:
    """Return what to type next."""
    if shown.state == "awaiting_review":
        yield command(f"tidegate approve {shown.id}")
        yield command(f"tidegate reject {shown.id}")
    if _lacks(shown):
        if approvable:
            yield command(f"tidegate approve {shown.id}")
        yield command(f"tidegate reject {shown.id}")
        yield command(f"tidegate override {shown.id} --reason '…'")
    if shown.state in {"gated", "blocked"} and shown.change_set:
        yield command(f"tidegate stacks {shown.change_set}")
        if shown.state == "blocked":
            yield command(f"tidegate retry {shown.id}")
        yield command(f"tidegate reject {shown.id}")
    if has_log:
        yield command(f"tidegate logs {shown.id}{'' if screen.is_final(shown.state) else ' --follow'}")
    if shown.state in {"queued", "planning"}:
        yield command(f"tidegate cancel {shown.id}")
    if shown.state == "outcome_unknown":
        yield Text("  Check the state of the infrastructure first, then:")
        yield command(f"tidegate unlock {shown.repository} {shown.root}")


def _lacks(shown: DeploymentBrief) -> bool:
    """Tell whether a deployment waits for what its root requires."""
    return shown.state == "awaiting_requirements"


def _cancelled(shown: DeploymentDetails) -> str:
    """Return how it is called that somebody cancelled it: an apply that was interrupted may have changed something."""
    return "Cancelled by" if shown.state == "cancelled" else "Interrupted by"


def _overridden(shown: DeploymentDetails) -> str:
    override = shown.requirements.override
    return f"by {override.by}: {override.reason}" if override else ""


def awaited(waits: Sequence[DependencyModel], own: str) -> str:
    """Return what a deployment of a stack waits for, in words: roots of this stack by name, others stack by stack."""
    stacks: dict[str, list[DependencyModel]] = {}
    for one in waits:
        stacks.setdefault(one.stack, []).append(one)
    return "; ".join(_awaited(stack, its, own) for stack, its in stacks.items())


def _awaited(stack: str, waits: Sequence[DependencyModel], own: str) -> str:
    named = [f"{one.root} ({screen.state_word(one.state)})" for one in waits[: _NAMED if stack == own else 1]]
    if stack == own:
        more = [f"{len(waits) - _NAMED} more"] if len(waits) > _NAMED else []
        return ", ".join([*named, *more])
    if len(waits) == 1:
        return f"{waits[0].root} of {stack} ({screen.state_word(waits[0].state)})"
    return f"stack {stack}: {len(waits)} left, such as {named[0]}"


def _review(shown: DeploymentDetails) -> str:
    review = shown.review
    if review is None:
        return ""
    if review.approved is not None:
        return f"{'approved' if review.approved else 'rejected'} by {person(review.by, review.at)}"
    given = ", ".join(approval.by for approval in review.approvals)
    needed = shown.review_rule.approvals
    who = " (not by its authors)" if shown.review_rule.exclude_authors else ""
    return f"{len(review.approvals)} of {needed} approvals{who}" + (f": {given}" if given else "")


def _timeline(history: Sequence[StepModel]) -> RenderableType:
    table = screen.table("TIME (UTC)", "STATE", "BY", "REASON", whole=["TIME (UTC)", "STATE"])
    for step in history:
        table.add_row(screen.moment(step.at), screen.state(step.state), screen.text(step.by), screen.text(step.reason))
    return table

"""The config updates that a file declares, and what is wrong between their image sets and environments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise

from tidegate.changes.rules.stack import StackDefinition, resolve_stacks
from tidegate.config.model.config_updates import AfterSection, ConfigUpdatesSection, ImageSetSection
from tidegate.config.refusals import MOST_LISTED
from tidegate.config.rules.config_updates import (
    AfterEnvironment,
    AfterStack,
    ConfigUpdates,
    DeclaredImageSet,
    Environment,
    Promote,
)
from tidegate.documents.document import KEY, Document, Path
from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import InvalidConfiguration, quoted
from tidegate.rules.graphs import Cycle, arrows, in_order

_HERE: Path = ("config_updates",)
_SETS: Path = (*_HERE, "sets")
#: Environments that a refusal names: as many as an image set can have.
_SHOWN = 20


def declared_updates(
    document: Document, section: ConfigUpdatesSection | None
) -> tuple[ConfigUpdates | None, list[InvalidConfiguration]]:
    """Return what the section says, None without one, and everything that is wrong between its parts."""
    if section is None:
        return None, []
    updates = ConfigUpdates(
        tuple(each.check for each in section.required_checks),
        tuple(_image_set(document, (*_SETS, number), each) for number, each in enumerate(section.sets)),
        section.auto_branch,
        section.check_timeouts.timeouts,
        section.commands.commands,
        section.supersede,
        section.land_over_red,
        document.place((*_HERE, KEY))[0],
    )
    found = (find(document, updates.sets) for find in (_twice, _manual, _waits))
    return updates, [*islice(chain.from_iterable(found), MOST_LISTED)]


def _image_set(document: Document, path: Path, section: ImageSetSection) -> DeclaredImageSet:
    environments = (
        Environment(
            each.name,
            each.file,
            tuple(target.target for target in each.targets),
            tuple(_after(section.name, after) for after in each.after),
            each.soak_time,
            each.promote,
            document.place((*path, "environments", number))[0],
        )
        for number, each in enumerate(section.environments)
    )
    return DeclaredImageSet(section.name, section.app.announcer, tuple(environments), document.place(path)[0])


def _after(image_set: str, section: AfterSection) -> AfterEnvironment | AfterStack:
    if section.environment is None:
        return AfterStack(section.repository or "", section.stack or "")
    before, slash, name = section.environment.rpartition("/")
    return AfterEnvironment(before if slash else image_set, name)


def _environments(sets: Sequence[DeclaredImageSet]) -> Iterator[tuple[Path, DeclaredImageSet, Environment]]:
    """Yield all environments with their places and image sets."""
    for at, each in enumerate(sets):
        for number, environment in enumerate(each.environments):
            yield (*_SETS, at, "environments", number), each, environment


def _twice(document: Document, sets: Sequence[DeclaredImageSet]) -> Iterator[InvalidConfiguration]:
    """Yield what is named twice: reports and files must belong to one environment."""
    every = list(_environments(sets))
    yield from _repeated(document, "image set", (((*_SETS, at, "name"), each.name) for at, each in enumerate(sets)))
    yield from _repeated(document, "file", (((*path, "file"), each.file) for path, _, each in every))
    for owner in sets:
        own = [(path, each) for path, held, each in every if held is owner]
        yield from _repeated(document, "environment", (((*path, "name"), each.name) for path, each in own))
        targets = (
            ((*path, "targets", number, "name"), target.name)
            for path, each in own
            for number, target in enumerate(each.targets)
        )
        yield from _repeated(document, "target", targets)


def _repeated(document: Document, kind: str, named: Iterable[tuple[Path, str]]) -> Iterator[InvalidConfiguration]:
    first: dict[str, Path] = {}
    for path, name in named:
        if first.setdefault(name, path) != path:
            problem = f"the {kind} {quoted(name)} is already on line {document.place(first[name])[0]}"
            yield document.refusal(path, problem, "Use another one")


def _manual(document: Document, sets: Sequence[DeclaredImageSet]) -> Iterator[InvalidConfiguration]:
    for at, each in enumerate(sets):
        if each.environments[0].promote is Promote.MANUAL:
            first = quoted(each.environments[0].name)
            problem = f"nothing is promoted to {first}: the first environment takes announced images"
            path = (*_SETS, at, "environments", 0, "promote")
            yield document.refusal(path, problem, "Set promote: manual at a later environment")


def _waits(document: Document, sets: Sequence[DeclaredImageSet]) -> Iterator[InvalidConfiguration]:
    """Yield which awaited environments do not exist or, where all do, that some wait for themselves."""
    known = dict.fromkeys(f"{owner.name}/{each.name}" for _, owner, each in _environments(sets))
    said: dict[tuple[str, str], Path] = {}
    unknown = False
    for path, owner, each in _environments(sets):
        for number, after in enumerate(each.after):
            place = (*path, "after", number, "environment")
            if isinstance(after, AfterEnvironment) and str(after) in known:
                said.setdefault((f"{owner.name}/{each.name}", str(after)), place)
            elif isinstance(after, AfterEnvironment):
                unknown = True
                yield document.refusal(place, f"unknown environment {quoted(str(after))}", _existing(after, known))
    if not unknown:
        yield from _cycle(document, sets, said)


def _existing(after: AfterEnvironment, known: Collection[str]) -> str:
    """Return the environments that may have been meant: those of the same image set, if there is one."""
    names = [name for name in known if name.startswith(f"{after.image_set}/")] or known
    near = nearest(str(after), names)
    return f"{f'Did you mean {quoted(near)}? ' if near else ''}Environments: {', '.join([*names][:_SHOWN])}"


def _cycle(
    document: Document, sets: Sequence[DeclaredImageSet], said: Mapping[tuple[str, str], Path]
) -> Iterator[InvalidConfiguration]:
    """Yield the refusal of environments that wait for themselves. ``said`` has the place of each ``after``."""
    names = [[f"{owner.name}/{each.name}" for each in owner.environments] for owner in sets]
    above = {step for each in names for step in pairwise(reversed(each))}
    leads_to: dict[str, list[str]] = {name: [] for each in names for name in each}
    for name, before in (*above, *said):
        leads_to[name].append(before)
    try:
        in_order(leads_to)
    except Cycle as cycle:
        nodes = cycle.nodes
        steps = zip(nodes, (*nodes[1:], nodes[0]), strict=True)
        path = next((said[step] for step in steps if step in said and step not in above), _SETS)
        allowed = "Remove it. Each environment also waits for the one above it in its image set"
        yield document.refusal(path, f"environments wait for themselves: {arrows(nodes)}", allowed)


def crossed_waits(
    document: Document, repository: str, sets: Sequence[DeclaredImageSet], definitions: Sequence[StackDefinition]
) -> list[InvalidConfiguration]:
    """Return the refusal of environments and stacks of this repository that wait for each other.

    What waits for another repository is not known here: a cycle over several repositories cannot be refused.
    """
    leads_to: dict[str, list[str]] = {}
    said: dict[str, Path] = {}
    stacks = resolve_stacks(definitions)
    for name, stack in stacks.items():
        own = (f"environment {each.environment}" for each in stack.environments if each.repository == repository)
        leads_to[f"stack {name}"] = [*(f"stack {each}" for each in sorted(stack.apply_after | stack.plan_after)), *own]
    for path, owner, each in _environments(sets):
        node = f"environment {owner.name}/{each.name}"
        names = [one.name for one in owner.environments]
        before = names[: names.index(each.name)][-1:]
        leads_to[node] = [f"environment {owner.name}/{one}" for one in before]
        for number, after in enumerate(each.after):
            if isinstance(after, AfterEnvironment):
                leads_to[node].append(f"environment {after}")
            elif after.repository == repository:
                said[node] = (*path, "after", number, "stack")
                members = (name for name, stack in stacks.items() if after.stack in (name, *stack.within))
                leads_to[node] += [f"stack {name}" for name in members]
    try:
        in_order({node: [each for each in firsts if each in leads_to] for node, firsts in leads_to.items()})
    except Cycle as cycle:
        path = next((said[each] for each in cycle.nodes if each in said), _SETS)
        problem = f"environments and stacks wait for each other: {arrows(cycle.nodes)}"
        return [document.refusal(path, problem, "Remove one of these")]
    return []

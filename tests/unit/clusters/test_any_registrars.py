"""Whatever registrars bind, a plan has each hook once, in order, and consumes nothing that is not there."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.clusters.clusters import a_hook, a_plan, any_cluster, any_component, any_spec, order_of, registering
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.refusals import ClusterRefused
from tidegate.clusters.rules.spec import BootstrapPlace, GitOpsAgent
from tidegate.clusters.rules.task import Capability, Resource
from tidegate.clusters.rules.workflow import WORKFLOWS
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import ComponentRole, DeclaredHook, HookPoint

_KEYS = ("bootstrap-cluster", "management-cluster", "workload-cluster", "mine", "yours")
_POINTS = st.sampled_from(HookPoint)


@st.composite
def _bindings(draw, workflow, provider):
    """Draw hooks of a few registrars, at places that exist."""
    anchors = ["", *(task.id for task in tasks_of(workflow, provider.capabilities))]
    bound = []
    for number in range(draw(st.integers(0, 12))):
        point = draw(_POINTS)
        own = point in {HookPoint.ON_ERROR, HookPoint.ALWAYS}
        hook = a_hook(
            f"h{number}",
            needs=() if own else draw(st.lists(st.sampled_from(_KEYS), max_size=1).map(tuple)),
            produces=draw(st.lists(st.sampled_from(("mine", "yours")), max_size=1).map(tuple)),
            acquires=draw(st.sampled_from(("", "", "", "thing"))),
            releases=draw(st.sampled_from(("", "thing"))),
        )
        bound.append((draw(st.integers(0, 2)), (point, "" if own else draw(st.sampled_from(anchors)), hook)))
    return [
        registering(workflow, *(place for _, place in places), name=f"r{registrar}")
        for registrar, places in groupby(sorted(bound, key=lambda each: each[0]), key=lambda each: each[0])
    ]


@st.composite
def _built(draw):
    """Draw what a plan is built of; keep what can be built."""
    workflow, provider = draw(st.sampled_from(WORKFLOWS)), draw(st.sampled_from(list(PROVIDERS.values())))
    registrars = draw(_bindings(workflow, provider))
    anchors = ["", *(task.id for task in tasks_of(workflow, provider.capabilities))]
    hooks = tuple(
        DeclaredHook(f"d{number}", point, "" if point in {HookPoint.ON_ERROR, HookPoint.ALWAYS} else anchor, ("true",))
        for number, (point, anchor) in enumerate(
            draw(st.lists(st.tuples(_POINTS, st.sampled_from(anchors)), max_size=5))
        )
    )
    roles = draw(st.sets(st.sampled_from(ComponentRole)))
    declared = any_cluster(workflow.kind, hooks=hooks, components=tuple(any_component(role) for role in roles))
    place = draw(st.sampled_from([None, BootstrapPlace.NONE, *provider.places]))
    spec = any_spec(bootstrap=place, gitops=draw(st.sampled_from(GitOpsAgent)))
    try:
        return registrars, declared, a_plan(workflow, *registrars, provider=provider, declared=declared, spec=spec)
    except ClusterRefused:
        assume(False)


@given(_built())
def test_each_hook_is_planned_exactly_once(built):
    registrars, declared, plan = built
    planned = Counter(each.name for each in _all(plan))
    bound = [hook.name for registrar in registrars for _, _, hook in registrar.hooks]
    assert planned == Counter([*bound, *(each.name for each in declared.hooks)])


@given(_built())
def test_hooks_of_one_place_run_in_the_order_in_which_they_were_bound(built):
    registrars, declared, plan = built
    bound = [hook.name for registrar in registrars for _, _, hook in registrar.hooks]
    order = {name: number for number, name in enumerate([*bound, *(each.name for each in declared.hooks)])}
    for place in _places(plan):
        for registrar in ("repository", *{each.registrar for each in place}):
            numbers = [order[each.name] for each in place if each.registrar == registrar]
            assert numbers == sorted(numbers)
        own = [order[each.name] for each in place if each.registrar != "repository"]
        assert own == sorted(own)


@given(_built())
def test_nothing_consumes_what_nothing_before_it_has_produced(built):
    _, _, plan = built
    known = {each.name: (each.needs, each.produces) for each in _all(plan)}
    known |= {step.task: (step.needs, step.produces) for step in plan.steps}
    produced: set[str] = set()
    for name in order_of(plan):
        needs, produces = known[name]
        assert set(needs) <= produced
        produced |= set(produces)


@given(_built())
def test_what_is_taken_is_given_back_at_the_end_and_after_a_failure(built):
    _, _, plan = built
    tasks = {task.id: task for task in tasks_of(plan.workflow, frozenset(Capability))}
    running = [tasks[step.task] for step in plan.steps if step.due]
    taken = [task.acquires for task in running if task.acquires]
    assert Counter(taken) == Counter(task.releases for task in running if task.releases)
    kept = [each for each in taken if each is Resource.BACKUP]
    assert [tasks[each].releases for each in plan.releases] == [each for each in taken[::-1] if each not in kept]


def _places(plan):
    steps = (place for step in plan.steps for place in (step.before, step.after))
    return [plan.before, plan.after, plan.on_error, plan.always, *steps]


def _all(plan):
    return [each for place in _places(plan) for each in place]

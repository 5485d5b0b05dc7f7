"""The deployments of a change: who they are, in which order they stand in line, and that they are known before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, any_revision, any_root
from tests.fakes import MemoryDeployments, MemoryDeployQueues
from tests.fakes.ports import memory_ports
from tidegate.changes.rules.change_set import Member
from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.changes.rules.waits import AwaitedEnvironment, Waits
from tidegate.config.configured import ConfiguredRoot
from tidegate.deploys.rules.request import Trigger
from tidegate.discovery.new_deployments import Request, accesses, enqueue_change, new_deployments
from tidegate.discovery.root_index import Deployable
from tidegate.roots.rules.root import change_set_id, deployment_id
from tidegate.roots.rules.terms import tagged
from tidegate.rules.access import Access
from tidegate.rules.errors import CloudUnavailable

REQUEST = Request("acme/infra", any_revision(), Trigger.MERGE, "merge", "maintainer", NOW)


def deployable(name="app", stack=DEFAULT_STACK, *, shared=False, access=None, **member) -> Deployable:
    root = any_root(name=name, dir=name)
    configured = ConfiguredRoot(root, tagged(root), (), stack, shared, access=access)
    return Deployable(Member(root, stack, "This commit changes it.", **member), configured)


def test_of_a_change_of_one_root_nothing_is_enrolled():
    (deployment,) = new_deployments(REQUEST, [deployable()])
    assert (deployment.change.id, deployment.request.at) == ("", NOW)
    assert deployment.id == deployment_id("acme/infra", "app", any_revision().sha, "merge")


@pytest.mark.parametrize(
    "waits",
    [
        Waits(refused=(("db", "dev"),)),
        Waits(environments=(AwaitedEnvironment("acme/config", "shop/production"),)),
    ],
)
def test_one_root_that_waits_is_part_of_a_change_whose_gates_are_looked_at(waits):
    (deployment,) = new_deployments(REQUEST, [deployable(waits=waits)])
    assert deployment.change.id == change_set_id("acme/infra", any_revision().sha, "merge")


def test_deployments_of_one_change_share_its_id_and_tell_their_place():
    waits = Waits(roots=("app",))
    first, second = new_deployments(REQUEST, [deployable(), deployable("db", layer=2, waits=waits)])
    assert first.change.id == second.change.id == change_set_id("acme/infra", any_revision().sha, "merge")
    assert [(each.change.layer, each.change.layers) for each in (first, second)] == [(1, 2), (2, 2)]
    assert (second.change.waits, second.change.why) == (waits, "This commit changes it.")


def test_layers_are_counted_inside_each_stack():
    places = [("dev", "a", 1), ("dev", "b", 2), ("eu", "a", 3), ("eu", "b", 4), ("us", "c", 3)]
    found = new_deployments(REQUEST, [deployable(name, stack, layer=layer) for stack, name, layer in places])
    assert [(each.change.layer, each.change.layers) for each in found] == [(1, 2), (2, 2), (1, 2), (2, 2), (1, 1)]


def test_a_deployment_knows_the_nests_around_its_stack():
    root = any_root()
    tags = tagged(root, ("stack_name:eu", "stack_name:production", "stack_name:all"))
    configured = ConfiguredRoot(root, tags, (), "eu")
    (found,) = new_deployments(REQUEST, [Deployable(Member(root, "eu", ""), configured)])
    assert (found.stack, found.within) == ("eu", ("all", "production"))


def test_the_stacks_of_one_root_have_ids_of_their_own_and_stand_in_line_in_order():
    stacks = [deployable(stack="dev", shared=True), deployable("db"), deployable(stack="prod", shared=True)]
    dev, db, prod = new_deployments(REQUEST, stacks)
    assert dev.queue == prod.queue
    assert len({dev.id, db.id, prod.id}) == 3
    assert dev.request.at == db.request.at < prod.request.at
    assert prod.request.at == prod.changed_at == NOW + timedelta(microseconds=1)


def test_a_root_of_one_stack_keeps_its_id_whatever_the_stack_is_called():
    (named,) = new_deployments(REQUEST, [deployable(stack="prod")])
    (unnamed,) = new_deployments(REQUEST, [deployable()])
    assert named.id == unnamed.id


class Refusing(MemoryDeployQueues):
    """Queues that take no deployments of some roots and stacks. Each enqueued one is known by root and stack."""

    def __init__(self, *refused):
        super().__init__(MemoryDeployments())
        self.refused, self.enqueued, self.enrolled = refused, [], []
        self.ports = memory_ports(deployments=self._deployments, queues=self)

    def enqueue(self, deployment, seen=None):
        if {deployment.root.name, deployment.stack} & set(self.refused):
            raise CloudUnavailable("DynamoDB", "ThrottlingException")
        self.enqueued.append((deployment.root.name, deployment.stack))
        members = self.ports.change_sets.deployments(deployment.change.id)
        self.enrolled.append([each.deployment for each in members])
        return super().enqueue(deployment, seen)


def test_all_of_a_change_are_enrolled_before_the_first_is_enqueued():
    queues, deployments = Refusing(), new_deployments(REQUEST, [deployable(), deployable("db")])
    enqueue_change(queues.ports, deployments)
    assert queues.enrolled == [[each.id for each in deployments]] * 2


def test_one_that_cannot_be_enqueued_does_not_hold_up_the_others():
    queues = Refusing("app")
    with pytest.raises(ExceptionGroup):
        enqueue_change(queues.ports, new_deployments(REQUEST, [deployable(), deployable("db")]))
    assert queues.enqueued == [("db", DEFAULT_STACK)]


def test_a_later_stack_of_a_root_never_comes_before_an_earlier_one_that_could_not_be_enqueued():
    queues = Refusing("dev")
    deployments = new_deployments(REQUEST, [deployable(stack=stack, shared=True) for stack in ("dev", "prod")])
    with pytest.raises(ExceptionGroup):
        enqueue_change(queues.ports, deployments)
    assert queues.enqueued == []
    queues.refused = ()
    enqueue_change(queues.ports, deployments)
    assert queues.enqueued == [("app", "dev"), ("app", "prod")]


def test_rules_of_access_are_told_once_for_a_stack_and_by_root_where_they_differ():
    team, person = Access(apply=("team:sre",)), Access(apply=("user:ann",))
    members = [
        deployable("a", "prod", access=team),
        deployable("b", "prod", access=team),
        deployable("c", "prod", access=person),
        deployable("d"),
    ]
    assert accesses(new_deployments(REQUEST, members)) == {
        "stack prod": team,
        "root c in stack prod": person,
        "root d": None,
    }

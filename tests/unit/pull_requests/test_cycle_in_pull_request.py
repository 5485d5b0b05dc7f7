"""A cycle that only the whole of a change shows is told in its pull request."""

from tests.builders import NOW, any_pull_request_record, sha
from tests.fakes import MemoryForge
from tests.fakes.ports import memory_ports
from tidegate.pull_requests.affected_layers import find_affected
from tidegate.rules.errors import CyclicChange

CIRCLE = CyclicChange("Stacks", ("dev", "prod"), "Remove one of them")


class Circular:
    """A repository whose files name a cycle."""

    def fetch(self, *_):
        raise CIRCLE


def test_a_cycle_is_told_and_holds_the_pull_request_up():
    ports = memory_ports(forge=MemoryForge(branches={"main": sha(2)}), history=Circular())
    affected = find_affected(ports, any_pull_request_record(), NOW)
    assert (affected.notice, affected.pressing, affected.guarded) == (str(CIRCLE), True, True)

"""A cycle that only the whole of a change shows is told in its pull request."""

from tests.builders import NOW, any_pull_request_record
from tidegate.pull_requests.affected_layers import LayerFinder
from tidegate.rules.errors import CyclicChange

CYCLE = CyclicChange("Stacks", ("dev", "prod"), "Remove one of them")


class Circular:
    """A repository whose files name a cycle."""

    def granted(self, *_):
        raise CYCLE


def test_a_cycle_is_told_and_holds_the_pull_request_up():
    affected = LayerFinder(Circular(), None).find(any_pull_request_record(), NOW)
    assert (affected.notice, affected.pressing, affected.guarded) == (str(CYCLE), True, True)

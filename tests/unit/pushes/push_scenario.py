"""A scenario in which pushes are received."""

from __future__ import annotations

from contextlib import contextmanager

from tests.builders import NOW, any_layer, any_pull_request, any_pull_request_record, seen, sha
from tests.fakes.ports import memory_ports, port
from tests.unit.discovery.trees import BASE, Trees
from tidegate.ports import Delivery, Merged
from tidegate.pushes.receive_push import receive_push
from tidegate.rules.errors import NotFound

AFTER = sha(2)
CHANGED = {**BASE, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}
ROOTS = "live/app", "live/db", "modules/network"


class Scenario:
    """The port ``SourceHistory``: a push leads from the files ``old`` to ``new``; ``made`` is what git merges.

    ``unreadable`` are tidegate.yaml of commits; a commit whose text is empty is gone.
    """

    def __init__(self, old=BASE, new=CHANGED, settings=None, **given):
        self.old, self.new, self.made = old, new, {}
        self.gone, self.old_is_known = False, True
        self.unreadable = {}
        self.fetched = []
        self._forgotten = set()
        self.ports = memory_ports(settings, history=self, **given)

    forge, queues, repository_index = port("forge"), port("queues"), port("repository_index")
    deliveries, deployments, change_sets = port("deliveries"), port("deployments"), port("change_sets")

    @contextmanager
    def fetch(self, url, token, before, after):
        self.fetched.append((url, token, before, after))
        if self.gone or self.unreadable.get(after) == "":
            raise NotFound("commit", after)
        if after in self.unreadable:
            yield Trees(self.old, {**self.new, "tidegate.yaml": self.unreadable[after]})
            return
        yield Trees(self.old, self.new, before_is_known=self.old_is_known)

    @contextmanager
    def merge(self, _url, _token, _base, _head, _common):
        yield Merged(Trees(self.old, self.made))

    def receive(self, delivery_id="delivery-1", at=NOW, event="push", **fields):
        """Let a push be received; return what became of it. Fields that are None are not told."""
        push = {
            "repository": "acme/infra",
            "before": sha(1),
            "after": AFTER,
            "branch": "main",
            **({"sender": "octocat", "forced": False, "authors": ["author"]} if event == "push" else {}),
            **fields,
        }
        delivery = Delivery(delivery_id, event, push, at)
        self.deliveries.store(delivery)
        return receive_push(self.ports, delivery)

    def open_pull_request(self):
        """Let a pull request that changes every root be planned, from the commit before the push."""
        spec = any_pull_request(base_sha=sha(1))
        layers = [any_layer(root) for root in ROOTS]
        self.ports.speculative_plans.create(layers)
        known = {"spec": spec, "discovered": spec.revision, "layers": tuple(each.id for each in layers)}
        self.ports.pull_requests.save(any_pull_request_record(**known))
        self.forge.seen[spec.number] = seen(spec)

    @property
    def pull_request(self):
        return self.ports.pull_requests.get("acme/infra", 5)

    @property
    def enqueued(self):
        """What was enqueued, in order, and not forgotten."""
        return [each for each in self.deployments.all() if each.id not in self._forgotten]

    def forget(self):
        """Leave what was enqueued so far out of ``enqueued``."""
        self._forgotten = {each.id for each in self.deployments.all()}

    @property
    def names(self):
        return [deployment.root.name for deployment in self.enqueued]

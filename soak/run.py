"""One soak from its beginning to its figures."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.client import LocalCloud
from soak.checker import check
from soak.clone import Clone
from soak.modules import Site
from soak.observe import complaints, observe
from soak.report import Outcome
from soak.settle import settle, unfinished
from soak.stacks import RULES, configuration, names
from soak.trouble import TROUBLE
from soak.work import PUSHES, WORK, Event, confirm_all
from soak.world import REPOSITORY, World

Progress = Callable[[str, World], None]

#: What takes long on AWS for good reasons, and would only make a soak wait.
LIMITS = {
    "terraform": {
        "Wait before planning again": {"Seconds": 1},
        "Start a runner for the plan": {"TimeoutSeconds": 60},
        "Start a runner for the apply": {"TimeoutSeconds": 60},
        "Plan": {"HeartbeatSeconds": 30},
        "Apply": {"HeartbeatSeconds": 30},
    },
    "deploy": {"Wait for a revision or an unlock": {"TimeoutSeconds": 20}},
}
#: Whose members may deploy by hand through the API.
CONTEXT = {"operators_team": "acme/platform"}
#: Seconds after which a message comes back whose function died; minutes on AWS.
_COMES_BACK = 30
#: One event in so many is trouble.
_TROUBLE_IN = 3
#: Events between two looks at the check runs, and seconds after them, at most.
_MOST_AT_ONCE, _LONGEST_PAUSE = 3, 0.8


@dataclass(frozen=True, slots=True)
class Soak:
    """What to do: for how many seconds things happen, and how long nothing may move while they come to rest."""

    seed: int
    seconds: float = 600
    roots: int = 8
    patience: float = 90
    log: Path | None = None

    def run(self, progress: Progress) -> Outcome:
        """Do it and return how it went."""
        began = time.monotonic()
        with self._world() as world:
            _begin(world)
            _stir(world, time.monotonic() + self.seconds, progress)
            settled = settle(world, self.patience, lambda left: progress(f"coming to rest: {left}", world))
            left = unfinished(world)
            history = observe(world)
            return Outcome(
                self.seed,
                time.monotonic() - began,
                history,
                world.done,
                world.struck,
                tuple(check(history)),
                settled,
                tuple(left),
                complaints(world),
            )

    @contextmanager
    def _world(self) -> Iterator[World]:
        with (
            tempfile.TemporaryDirectory(prefix="soak-") as directory,
            LocalCloud(limits=LIMITS, context=CONTEXT, clock=False, warm=True, log=self.log) as cloud,
        ):
            site = Site(cloud.info["state_bucket"], Path(directory, "journal"))
            clone = Clone(Path(directory, "clone"), _remote(cloud))
            secret = cloud.client("secretsmanager").get_secret_value(SecretId="tidegate/github-app")
            chance = random.Random(self.seed)
            yield World(cloud, clone, site, names(self.roots), chance, json.loads(secret["SecretString"]))


def _remote(cloud: LocalCloud) -> str:
    scheme, _, rest = str(cloud.info["forge_url"]).partition("://")
    return f"{scheme}://maintainer:maintainer@{rest}/{REPOSITORY}.git"


def _begin(world: World) -> None:
    """Keep all versions of states, let messages come back soon, and push all roots."""
    enabled = {"Status": "Enabled"}
    world.cloud.client("s3").put_bucket_versioning(Bucket=world.site.bucket, VersioningConfiguration=enabled)
    for name, url in world.cloud.info["queues"].items():
        if "Dead" not in name:
            attributes = {"VisibilityTimeout": str(_COMES_BACK)}
            world.cloud.client("sqs").set_queue_attributes(QueueUrl=url, Attributes=attributes)
    world.clone.begin()
    files = world.new_modules(world.roots)
    world.clone.commit({**files, "tidegate.yaml": configuration(world.roots, RULES[0])}, "Begin")
    world.clone.push()


def _stir(world: World, until: float, progress: Progress) -> None:
    """Let one thing after another happen until the time is over, and something was done and something went wrong."""
    while time.monotonic() < until or not (world.done and world.struck):
        world.look()
        for _ in range(world.chance.randint(1, _MOST_AT_ONCE)):
            _happen(world, progress)
        time.sleep(world.chance.uniform(0, _LONGEST_PAUSE))


def _happen(world: World, progress: Progress) -> None:
    trouble = world.chance.randrange(_TROUBLE_IN) == 0
    kinds, counted = (TROUBLE, world.struck) if trouble else (WORK, world.done)
    event = _choose(world, kinds)
    if event in PUSHES and world.is_crowded():
        event = confirm_all
    told = event(world)
    if told is not None:
        _count(counted, event)
        progress(f"{_name(event)} {told}", world)


def _choose(world: World, kinds: tuple[tuple[Event, int], ...]) -> Event:
    return world.chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]


def _count(counted: Counter[str], event: Event) -> None:
    counted[_name(event)] += 1


def _name(event: Event) -> str:
    return getattr(event, "__name__", "event").replace("_", " ")

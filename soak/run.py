"""One soak from its beginning to its figures."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from soak import lambda_plans
from soak.checker import broken_now, check
from soak.clone import Clone
from soak.drift import look_at_last
from soak.harness import REPOSITORIES, Harness
from soak.modules import Site
from soak.observe import complaints, observe, recorded
from soak.plan_rules import FARGATE
from soak.report import Outcome
from soak.settle import end_trouble, settle, unfinished
from soak.stacks import POLICY, POLICY_FILE, RULES, configuration, names
from soak.table import reconcile
from soak.trouble import TROUBLE
from soak.update_rules import broken_updates, check_updates
from soak.updates import UPDATES, ConfigRepository
from soak.violation import Violation
from soak.work import PUSHES, WORK, Event, decide_all
from tidegate_local.client import LocalCloud

Progress = Callable[[str, Harness], None]
_Weighted = Sequence[tuple[Callable[..., str | None], int]]

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
    "config_update": {
        "Start a runner for the repository's commands": {"TimeoutSeconds": 60},
        "Run the repository's commands": {"HeartbeatSeconds": 30},
        "Wait for an image set, a verdict or a report": {"TimeoutSeconds": 20},
    },
}
#: Whose members may deploy by hand through the API.
CONTEXT = {"operators_team": "acme/platform"}
#: Seconds after which a message comes back whose function died; minutes on AWS.
_COMES_BACK = 30
#: Seconds between two runs of the reconciler, five minutes on AWS: what was lost comes back.
_RECONCILES = 20.0
#: One event in so many is trouble.
_TROUBLE_IN = 3
#: One repository has more of all that happens: a queue has to be busy. The last share is the config repository's.
_SHARES = (3, 1, 2)
#: Those of a soak that is focused on it.
_FOCUSED = (1, 1, 8)
#: What a soak is focused on happens so many times as often.
_FOCUS = 8
#: Seconds between two checks of one that stops at the first broken rule.
_BETWEEN_CHECKS = 10.0
#: Events between two looks at the check runs, and seconds after them, at most.
_MOST_AT_ONCE, _LONGEST_PAUSE = 3, 0.8


@dataclass(frozen=True, slots=True)
class Soak:
    """What to do: for how many seconds things happen, and how long nothing may move while they become idle.

    With ``stop_at_first`` it ends when something is broken for sure. What ``focus`` names happens more often.
    Plans begin on ``plan_runner``: ``fargate``, ``lambda`` or ``auto``.
    """

    seed: int
    seconds: float = 600
    roots: int = 8
    idle_limit: float = 90
    log: Path | None = None
    stop_at_first: bool = False
    focus: tuple[str, ...] = ()
    plan_runner: str = FARGATE

    def run(self, progress: Progress) -> Outcome:
        """Do it and return how it went."""
        began = time.monotonic()
        with self._harnesses() as harnesses:
            first = harnesses[0]
            for harness in harnesses:
                _begin(harness)
            updates = ConfigRepository(first.cloud, first.chance, first.clone.place.parents[1] / "config")
            updates.begin()
            found = self._stir(harnesses, updates, began + self.seconds, progress)
            settled = not found
            if found:
                end_trouble(harnesses)
            else:
                settled = settle(
                    harnesses, updates, self.idle_limit, lambda left: progress(f"waiting for open work: {left}", first)
                )
            left = unfinished(harnesses, updates)
            if settled:
                look_at_last(harnesses, self.idle_limit)
            histories = tuple(recorded(harness) if found else observe(harness) for harness in harnesses)
            of_updates = updates.history() if found else updates.observed()
            return Outcome(
                seed=self.seed,
                seconds=time.monotonic() - began,
                histories=histories,
                events=first.done,
                troubles=first.struck,
                violations=tuple(
                    found or [*(each for history in histories for each in check(history)), *check_updates(of_updates)]
                ),
                settled=settled,
                left=tuple(left),
                complaints=complaints(first),
                plan_runner=self.plan_runner,
                updates=of_updates,
            )

    @contextmanager
    def _harnesses(self) -> Iterator[list[Harness]]:
        """Yield one harness for each repository: they have the cloud, and what is counted, in common."""
        with (
            tempfile.TemporaryDirectory(prefix="soak-") as directory,
            LocalCloud(
                limits=LIMITS,
                context={**CONTEXT, **lambda_plans.context(self.plan_runner)},
                environment=lambda_plans.environment(self.plan_runner),
                clock=False,
                warm=True,
                log=self.log,
            ) as cloud,
        ):
            secret = cloud.client("secretsmanager").get_secret_value(SecretId="tidegate/github-app")
            app, harnesses, chance = json.loads(secret["SecretString"]), [], random.Random(self.seed)
            done, struck, outages, cuts = Counter[str](), Counter[str](), list[str](), list[str]()
            for repository in REPOSITORIES:
                prefix = repository.rpartition("/")[2]
                place = Path(directory, prefix)
                place.mkdir()
                clone = Clone(place / "clone", _remote(cloud, repository))
                site = Site(cloud.info["state_bucket"], prefix, place)
                harness = Harness(cloud, repository, clone, site, names(self.roots), chance, app)
                harnesses.append(replace(harness, done=done, struck=struck, outages=outages, cuts=cuts))
            yield harnesses

    def _stir(
        self, harnesses: list[Harness], updates: ConfigRepository, until: float, progress: Progress
    ) -> list[Violation]:
        """Let one thing after another happen until the time is over, and something was done and something went wrong.

        Return what is broken for sure if it stops at the first of that, else nothing.
        """
        first, checked = harnesses[0], time.monotonic()
        reconciled = checked
        repositories: list[Harness | ConfigRepository] = [*harnesses, updates]
        while time.monotonic() < until or not (first.done and first.struck):
            (chosen,) = first.chance.choices(repositories, self._shares())
            chosen.look()
            for _ in range(first.chance.randint(1, _MOST_AT_ONCE)):
                self._happen(chosen, first, progress)
            if time.monotonic() - reconciled > _RECONCILES:
                reconcile(first)
                reconciled = time.monotonic()
            time.sleep(first.chance.uniform(0, _LONGEST_PAUSE))
            if self.stop_at_first and time.monotonic() - checked > _BETWEEN_CHECKS:
                found = [each for one in harnesses for each in _broken_for_sure(one)]
                updates.look()
                if found or (found := broken_updates(updates.history())):
                    return found
                checked = time.monotonic()
        return []

    def _happen(self, chosen: Harness | ConfigRepository, first: Harness, progress: Progress) -> None:
        """Let something happen to a repository, or something go wrong, which may strike all of them."""
        harness = chosen if isinstance(chosen, Harness) else first
        trouble = first.chance.randrange(_TROUBLE_IN) == 0
        usual: _Weighted = WORK if isinstance(chosen, Harness) else UPDATES
        kinds: _Weighted = self._troubles() if trouble else usual
        weights = [weight * (_FOCUS if _name(kind) in self.focus else 1) for kind, weight in kinds]
        (event,) = first.chance.choices([kind for kind, _ in kinds], weights)
        if event in PUSHES and harness.is_crowded():
            event = decide_all
        told = event(harness if trouble else chosen)
        if told is not None:
            (first.struck if trouble else first.done)[_name(event)] += 1
            progress(f"{_name(event)} {told}", harness)

    def _shares(self) -> tuple[int, ...]:
        return _SHARES if {_name(kind) for kind, _ in UPDATES}.isdisjoint(self.focus) else _FOCUSED

    def _troubles(self) -> tuple[tuple[Event, int], ...]:
        return TROUBLE if self.plan_runner == FARGATE else (*TROUBLE, *lambda_plans.TROUBLE_ON_LAMBDA)


def _broken_for_sure(harness: Harness) -> list[Violation]:
    """Return what is broken and still is after a second look: the first may have come while something was half told."""
    told = {(each.rule, each.root, each.what) for each in broken_now(recorded(harness))}
    if not told:
        return []
    harness.look([push.after for push in harness.clone.pushes] + harness.clone.branches)
    return [each for each in broken_now(recorded(harness)) if (each.rule, each.root, each.what) in told]


def _remote(cloud: LocalCloud, repository: str) -> str:
    scheme, _, rest = str(cloud.info["forge_url"]).partition("://")
    return f"{scheme}://developer:developer@{rest}/{repository}.git"


def _begin(harness: Harness) -> None:
    """Keep all versions of states, let messages come back soon, and push all roots."""
    enabled = {"Status": "Enabled"}
    harness.cloud.client("s3").put_bucket_versioning(Bucket=harness.site.bucket, VersioningConfiguration=enabled)
    for name, url in harness.cloud.info["queues"].items():
        if "Dead" not in name:
            attributes = {"VisibilityTimeout": str(_COMES_BACK)}
            harness.cloud.client("sqs").set_queue_attributes(QueueUrl=url, Attributes=attributes)
    harness.clone.begin()
    files = harness.new_modules(harness.roots)
    files |= {"tidegate.yaml": configuration(harness.roots, RULES[0], harness.site.plans), POLICY_FILE: POLICY}
    harness.clone.commit(files, "Begin")
    harness.clone.push()


def _name(event: Callable[..., str | None]) -> str:
    return getattr(event, "__name__", "event").replace("_", " ")

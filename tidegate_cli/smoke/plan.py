"""The steps of a smoke test in their order, with the time that each may take, in minutes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidegate_cli.smoke import checks, removal, trials
from tidegate_cli.smoke.course import Step, Within
from tidegate_cli.smoke.scene import Scene

Act = Callable[[Scene, Within], str]
#: A first deploy builds and pushes four images; an engine's runner may need minutes to start.
_TRIALS: tuple[tuple[str, float, Act], ...] = (
    ("make the state bucket", 2, trials.make_bucket),
    ("deploy", 40, trials.deploy),
    ("store the secrets", 2, trials.store_secrets),
    ("point the webhook", 2, trials.point_webhook),
    ("push and plan", 12, trials.push),
    ("approve and apply", 10, trials.approve),
    ("set an alarm", 5, trials.ring),
    ("stop a planning runner", 20, trials.stop_planning),
    ("upgrade while it waits", 30, trials.upgrade),
    ("approve what waited", 10, trials.approve),
    ("stop an applying runner", 20, trials.stop_applying),
)
_CLEANING: tuple[tuple[str, float, Act], ...] = (
    ("release the webhook", 2, removal.release_webhook),
    ("clean the repository", 2, removal.clean_repository),
    ("stop what runs", 6, removal.stop_work),
    ("delete the stack", 30, removal.delete_stack),
    ("delete what the stack left", 10, removal.delete_leftovers),
    ("check that nothing is left", 10, removal.see_nothing),
)


def trial_steps(scene: Scene, arn: str) -> list[Step]:
    """Return the steps that show whether the installation works."""
    first = Step("check the permissions", 2, partial(checks.check_account, scene, arn))
    return [first, *(Step(name, minutes, partial(act, scene)) for name, minutes, act in _TRIALS)]


def cleaning_steps(scene: Scene) -> list[Step]:
    """Return the steps that remove everything again."""
    return [Step(name, minutes, partial(act, scene)) for name, minutes, act in _CLEANING]

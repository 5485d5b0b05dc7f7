"""``python -m soak [--minutes M] [--seed N] [--roots N]``: exit codes are those of ``soak.verdict``."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.status import Status

from soak.harness import Harness
from soak.plan_rules import FARGATE, PLAN_RUNNERS
from soak.report import Outcome, show
from soak.run import Soak
from soak.verdict import BROKEN, NOT_TRIED

BUILD = Path(__file__).parents[1] / "build"
#: So long a soak has a case of every rule, or fails.
MINUTES = 10


def main(arguments: list[str]) -> int:
    """Run a soak and print what came of it; return the exit code."""
    given = _parsed(arguments)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    console = Console(highlight=False)
    console.print(
        f"seed {seed}: {given.roots} roots, {given.minutes:g} minutes of work and faults; plans on {given.plans}"
    )
    BUILD.mkdir(exist_ok=True)
    began = time.monotonic()
    with console.status("starting the local cloud") as status:
        log, focus = BUILD / f"soak-{seed}.log", tuple(given.focus)
        soak = Soak(
            seed, given.minutes * 60, given.roots, given.idle_limit, log, given.stop_at_first, focus, given.plans
        )
        outcome = soak.run(
            lambda told, harness: _progress(status, began, told, harness, console if given.verbose else None)
        )
    record = BUILD / f"soak-{seed}.json"
    told = [*(history.to_json() for history in outcome.histories), outcome.updates.to_json()]
    record.write_text(f"[{','.join(told)}]", encoding="utf-8")
    show(outcome, console)
    console.print(
        f"history: {record}; to repeat: make soak SEED={seed} ROOTS={given.roots} MINUTES={given.minutes:g} "
        f"PLANS={given.plans}"
    )
    if outcome.violations or not outcome.settled:
        return BROKEN
    return 0 if _is_proof(outcome, given.minutes, console) else NOT_TRIED


def _is_proof(outcome: Outcome, minutes: float, console: Console) -> bool:
    """Tell whether each rule was tried, as it has to be in a run of the default length; say which was not."""
    missing = [case for case in outcome.cases if not case.count]
    for case in missing:
        console.print(f"rule {case.rule} not tested: {case.what}", style="red" if minutes >= MINUTES else "yellow")
    if missing and minutes < MINUTES:
        console.print(f"The soak was too short to test every rule; run it for at least {MINUTES} minutes.")
        return True
    return not missing


def _progress(status: Status, began: float, told: str, harness: Harness, console: Console | None) -> None:
    seconds = time.monotonic() - began
    done, struck = sum(harness.done.values()), sum(harness.struck.values())
    figures = f"{done} events, {struck} faults, {len(harness.clone.pushes)} pushes"
    status.update(f"{seconds:4.0f} s, {figures}; {told}"[:200])
    if console is not None:
        console.print(f"{seconds:7.1f} {told}", markup=False, soft_wrap=True)


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="minutes of random work (default 10)")
    parser.add_argument("--seed", type=int, help="the seed of an earlier run, to repeat it")
    parser.add_argument("--roots", type=int, default=8, help="number of root modules (default 8)")
    parser.add_argument(
        "--idle-limit", type=float, default=90, help="seconds without progress before the soak gives up (default 90)"
    )
    parser.add_argument("--stop-at-first", action="store_true", help="stop at the first certain violation")
    parser.add_argument("--focus", action="append", default=[], help="an event or fault to run more often")
    parser.add_argument("--plans", choices=PLAN_RUNNERS, default=FARGATE, help="where plans start (default fargate)")
    parser.add_argument("--verbose", action="store_true", help="print every event")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Reconcile what events missed: each function gets its turn, and a failure of one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from tidegate.ports import Ports
from tidegate.reconciler.cancel_withdrawn import cancel_withdrawn
from tidegate.reconciler.catch_up_heads import catch_up_heads
from tidegate.reconciler.close_orphans import close_orphans
from tidegate.reconciler.follow_promotions import follow_promotions, poll_targets
from tidegate.reconciler.follow_pull_requests import follow_pull_requests, restart_pull_requests
from tidegate.reconciler.free_plan_slots import free_plan_slots
from tidegate.reconciler.free_slots import free_slots
from tidegate.reconciler.recheck_requirements import recheck_requirements
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.redeliver_webhooks import redeliver_webhooks
from tidegate.reconciler.refresh_all_positions import refresh_all_positions
from tidegate.reconciler.release_locks import release_locks
from tidegate.reconciler.release_queues import release_queues
from tidegate.reconciler.resend_deliveries import resend_deliveries
from tidegate.reconciler.settle_gates import settle_gates
from tidegate.reconciler.settle_reviews import settle_reviews
from tidegate.reconciler.show_check_runs import show_check_runs
from tidegate.reconciler.start_update_workers import start_update_workers
from tidegate.reconciler.start_workers import start_workers
from tidegate.reconciler.stop_runners import stop_runners
from tidegate.reconciler.warn_of_expiring_reviews import warn_of_expiring_reviews

#: Reconciles, repeatably, and returns how much was repaired.
Repair = Callable[[Ports, ReconcilerPass], int]
#: All, in order: a requeued deployment needs a worker, and only the last ones call the VCS provider.
REPAIRS: Sequence[Repair] = (
    close_orphans,
    settle_reviews,
    settle_gates,
    cancel_withdrawn,
    show_check_runs,
    stop_runners,
    release_queues,
    release_locks,
    start_workers,
    start_update_workers,
    refresh_all_positions,
    restart_pull_requests,
    free_plan_slots,
    free_slots,
    follow_promotions,
    recheck_requirements,
    warn_of_expiring_reviews,
    follow_pull_requests,
    poll_targets,
    resend_deliveries,
    redeliver_webhooks,
    catch_up_heads,
)
#: Seconds of one run; the function has 240.
RUN_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The result of a run: how much each function repaired, and what failed."""

    repaired: dict[str, int] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)


def reconcile(ports: Ports, repairs: Sequence[Repair] = REPAIRS) -> Reconciliation:
    """Give each function its share of the remaining time. What does not fit has its turn in a later run.

    Running it twice is harmless.
    """
    done, clock = Reconciliation(), ports.clock
    end = clock.now() + timedelta(seconds=RUN_SECONDS)
    for number, repair in enumerate(repairs):
        share = (end - clock.now()) / (len(repairs) - number)
        turn = ReconcilerPass(clock, clock.now() + share, done.failures)
        done.repaired[repair.__name__] = _repaired(ports, repair, turn)
    return done


def _repaired(ports: Ports, repair: Repair, turn: ReconcilerPass) -> int:
    try:
        return repair(ports, turn)
    except Exception as error:  # noqa: BLE001  # Whatever is wrong with one repair must not hold back the others.
        error.add_note(f"in the reconciler step {repair.__name__}")
        turn.failures.append(error)
        return 0

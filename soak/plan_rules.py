"""The checker's rules of where jobs run: one runner plans, applies stay on Fargate, and what Lambda loses moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from soak.history import History, Runner
from soak.violation import Violation, has_ended

LAMBDA, FARGATE = "lambda", "fargate"
#: Where an installation's plans may begin.
PLAN_RUNNERS = (FARGATE, LAMBDA, "auto")
_APPLY = "apply"
#: What a check run says of a plan that has ended because of Lambda.
_BLAMES = ("too large for Lambda", "on Lambda ended")


def one_runner_plans(history: History) -> Iterator[Violation]:
    """Rule 1, for plans: a job is taken once, however many runners come for it, wherever they run."""
    counted = Counter((plan.root, plan.job) for plan in history.plans)
    for (root, job), count in counted.items():
        if count > 1:
            yield Violation("1 one runner plans", root, f"{count} runners planned {job}")


def applies_run_on_fargate(history: History) -> Iterator[Violation]:
    """No apply is given to Lambda, which would end it after fifteen minutes."""
    for runner in history.runners:
        if runner.where == LAMBDA and _kind(runner.job) == _APPLY:
            yield Violation("5 applies run on Fargate", "", f"{runner.job} was dispatched to Lambda")


def lost_plans_move(history: History) -> Iterator[Violation]:
    """Rule 2, for plans on Lambda: what ends there without a result is planned on Fargate, and fails nobody."""
    for run in history.checks:
        said = f"{run.title} {run.summary}"
        if has_ended(run) and run.conclusion != "success" and any(words in said for words in _BLAMES):
            yield Violation("2 lost plans move", run.root, f"{run.deployment} ended: {said}", run.sha, (run.url,))


def on_lambda(history: History) -> list[Runner]:
    """Return the plans that were given to Lambda."""
    return [runner for runner in history.runners if runner.where == LAMBDA]


def moved(history: History) -> int:
    """Count plans that Lambda had, and that Fargate had after it."""
    began = {_owner(runner.job): runner.at for runner in reversed(on_lambda(history))}
    later = [runner for runner in history.runners if runner.where == FARGATE and _kind(runner.job) != _APPLY]
    return len({_owner(one.job) for one in later if one.at > began.get(_owner(one.job), one.at)})


def lost(history: History) -> int:
    """Count calls that ended in a failure of the function."""
    return sum(runner.error is not None for runner in on_lambda(history))


def doubled(history: History) -> int:
    """Count jobs for which several calls came."""
    return sum(count > 1 for count in Counter(runner.job for runner in on_lambda(history)).values())


def _owner(job: str) -> str:
    """Return whose job it is: ids of jobs end in their kind and the number of the attempt."""
    return job.rsplit("-", 2)[0]


def _kind(job: str) -> str:
    return job.rsplit("-", 2)[-2] if job.count("-") > 1 else ""

"""What a smoke test costs, as an estimate: prices of us-east-1 in dollars, of 2026-11."""

from __future__ import annotations

#: A runner of 1 vCPU and 2 GB on ARM, an hour; on x86 it is a quarter more.
_RUNNER = 0.03238 + 2 * 0.00356
#: Its public address, an hour.
_ADDRESS = 0.005
#: A deploy's other parts: transitions, logs, writes, functions (docs/performance.md).
_DEPLOY = 0.0012
#: An hour of what is paid by the month: alarms on 13 metrics at $0.10 each, two secrets at $0.40.
_STANDING = (13 * 0.10 + 2 * 0.40) / 730
#: The images of two deploys, in the repository of the CDK's bootstrap, where they stay: GB-months at $0.10.
IMAGES = 0.10
_DEPLOYS, _RUNNERS, _RUNNER_HOURS, _HOURS = 3, 7, 0.05, 1.0


def estimate(seconds: float | None = None) -> float:
    """Return the dollars of a test of so many seconds, before it of an hour, without what images cost later."""
    hours = _HOURS if seconds is None else seconds / 3600
    return _RUNNERS * _RUNNER_HOURS * (_RUNNER + _ADDRESS) + _DEPLOYS * _DEPLOY + hours * _STANDING


def in_words(seconds: float | None = None) -> str:
    """Return the estimate as a sentence."""
    stays = f"Its images stay in the CDK's repository: about ${IMAGES:.2f} a month for each GB until you delete them."
    return f"About ${max(0.01, estimate(seconds)):.2f}, an estimate from list prices. {stays}"

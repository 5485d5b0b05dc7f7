"""Webhooks that fail repeatedly: GitLab disables them for a while, and never sends the skipped events."""

from __future__ import annotations

from datetime import timedelta
from itertools import takewhile

from tidegate_local.forge.clock import read
from tidegate_local.forge.records import Delivery
from tidegate_local.gitlab import clock
from tidegate_local.gitlab.hosting import Hosting

#: After so many failures in a row a webhook is disabled for a minute, then for twice as long after each; then for good.
FAILURES_BEFORE_PAUSE, LAST = 4, 40
_FIRST_PAUSE, _LONGEST_PAUSE = 60, 86_400
#: Newest deliveries that are read.
_CHECKED = 200


def status(hosting: Hosting, hook: int) -> tuple[str, str | None]:
    """Return GitLab's ``alert_status`` and ``disabled_until`` of a webhook."""
    newest = hosting.store.newest(Delivery, _CHECKED)
    ended = [one for one in newest if one.installation == hook and one.status_code]
    failed = list(takewhile(_has_failed, ended))
    if len(failed) >= LAST:
        return "disabled", None
    if len(failed) < FAILURES_BEFORE_PAUSE:
        return "executable", None
    pause = min(_FIRST_PAUSE * 2 ** (len(failed) - FAILURES_BEFORE_PAUSE), _LONGEST_PAUSE)
    until = clock.written(read(failed[0].delivered_at) + timedelta(seconds=pause))
    return ("executable", None) if clock.is_past(until) else ("temporarily_disabled", until)


def _has_failed(one: Delivery) -> bool:
    return one.status_code >= 400  # noqa: PLR2004 - the first status of errors

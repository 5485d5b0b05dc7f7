"""Templates, and the headers that keep pages from loading anything from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from werkzeug.wrappers import Response

from tidegate_local.forge import clock
from tidegate_local.forge.pages import markdown
from tidegate_local.forge.records import CheckRun

_HERE = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self' http://localhost:* http://127.0.0.1:*; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {"forge.css": "text/css", "forge.js": "text/javascript"}
#: Words for a run's state, as GitHub shows them.
_STATES = {
    "queued": "Queued",
    "in_progress": "In progress",
    "success": "Successful",
    "failure": "Failing",
    "neutral": "Neutral",
    "cancelled": "Cancelled",
    "skipped": "Skipped",
    "timed_out": "Timed out",
    "action_required": "Action required",
    "stale": "Stale",
}
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))


def page(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """Return a page."""
    return Response(
        _ENVIRONMENT.get_template(template).render(values), status, HEADERS, content_type="text/html; charset=utf-8"
    )


def static(name: str) -> Response | None:
    """Return a style sheet or script."""
    if name not in _STATIC:
        return None
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "max-age=60"}
    return Response((_HERE / "static" / name).read_bytes(), 200, headers, content_type=_STATIC[name])


def state_of(run: CheckRun) -> str:
    """Return a run's status, or its conclusion once it is completed."""
    return (run.conclusion or "neutral") if run.status == "completed" else run.status


def is_settled(run: CheckRun) -> bool:
    """Tell whether nothing more is expected to happen: completed, and nobody is asked to act."""
    return run.status == "completed" and run.conclusion != "action_required"


def ago(time: str) -> str:
    """Return how long ago a time was, in words."""
    seconds = max(0, int((datetime.now(UTC) - clock.read(time)).total_seconds()))
    for size, unit in _UNITS:
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def lasted(run: CheckRun) -> str:
    """Return how long a completed run took, as GitHub writes it."""
    if not run.completed_at:
        return ""
    seconds = max(0, int((clock.read(run.completed_at) - clock.read(run.started_at)).total_seconds()))
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "markdown": markdown.render,
        "ago": ago,
        "state": state_of,
        "lasted": lasted,
        "state_words": lambda state: _STATES.get(state, state),
        "short": lambda sha: sha[:7],
    }
    return environment


_ENVIRONMENT = _environment()

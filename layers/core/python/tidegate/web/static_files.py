"""The pages' static files: style sheet, scripts, pictures."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from tidegate.web.refusals import Hidden
from tidegate.web.rendering import STATIC

_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: Addresses change with the content (``rendering.static_address``).
_KEPT = "public, max-age=31536000, immutable"


def static_file(file: str) -> Response[str]:
    """Return a static file. Raise Hidden for any other name."""
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in _KINDS}
    if file not in files:
        raise Hidden
    path = files[file]
    return Response(HTTPStatus.OK, _KINDS[path.suffix], path.read_text(encoding="utf-8"), {"Cache-Control": _KEPT})

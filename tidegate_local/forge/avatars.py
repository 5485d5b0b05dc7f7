"""Pictures of people, drawn from their names."""

from __future__ import annotations

import hashlib

from markupsafe import escape
from werkzeug.wrappers import Response


def avatar(login: str) -> Response:
    """Return a round picture with the first letter of ``login``."""
    hue = int.from_bytes(hashlib.sha256(login.encode()).digest()[:2]) % 360
    letter = escape((login[:1] or "?").upper())
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">'
        f'<circle cx="20" cy="20" r="20" fill="hsl({hue} 45% 45%)"/>'
        '<text x="20" y="27" font-family="sans-serif" font-size="20" font-weight="600" fill="#fff" '
        f'text-anchor="middle">{letter}</text></svg>'
    )
    return Response(svg, content_type="image/svg+xml", headers={"Cache-Control": "max-age=86400"})

"""What GitLab says of itself, and of the token that asks."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab.identity import ALL_SCOPES
from tidegate_local.gitlab.refusals import unauthorized
from tidegate_local.gitlab.routing import Call, Routes
from tidegate_local.gitlab.shapes import SINCE

ROUTES = Routes()
#: The version whose API this is.
VERSION = "17.11.0"


@ROUTES.add("GET", "/metadata", scopes=("api", "read_api", "read_user"))
def metadata(call: Call) -> Response:
    """Answer which GitLab this is, to users only."""
    if call.caller is None:
        raise unauthorized()
    kas = {"enabled": False, "externalUrl": "", "externalK8sProxyUrl": "", "version": ""}
    return answer({"version": VERSION, "revision": "0" * 11, "kas": kas, "enterprise": False})


@ROUTES.add("GET", "/personal_access_tokens/self", scopes=ALL_SCOPES)
def own_token(call: Call) -> Response:
    """Answer what the token that asks may do, whatever it is."""
    if call.caller is None:
        raise unauthorized()
    return answer(
        {
            "id": call.user.id,
            "name": f"{call.user.username}'s",
            "revoked": False,
            "created_at": SINCE,
            "scopes": list(call.caller.scopes),
            "user_id": call.user.id,
            "last_used_at": SINCE,
            "active": True,
            "expires_at": call.caller.expires_at and call.caller.expires_at[:10],
        }
    )

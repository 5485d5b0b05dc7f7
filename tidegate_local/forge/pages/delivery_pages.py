"""The webhook log: what was sent, what was answered, and sending again."""

from __future__ import annotations

import json

from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from tidegate_local.forge.pages.visit import Visit
from tidegate_local.forge.records import Delivery
from tidegate_local.forge.refusals import not_found

_SHOWN = 100


def index(visit: Visit) -> Response:
    """List the newest deliveries."""
    newest = visit.hosting.store.newest(Delivery, _SHOWN)
    return visit.show("deliveries.html", deliveries=newest, target=visit.hosting.webhooks.url, live=True)


def one(visit: Visit) -> Response:
    """Show a delivery: request, answer."""
    try:
        delivery = visit.hosting.store.get(Delivery, visit.path["id"])
    except KeyError:
        raise not_found() from None
    payload = json.dumps(json.loads(delivery.payload), indent=2)
    return visit.show("delivery.html", delivery=delivery, payload=payload, live=delivery.status == "pending")


def redeliver(visit: Visit) -> Response:
    """Send a delivery again."""
    visit.form()
    try:
        again = visit.hosting.webhooks.send_again(visit.path["id"])
    except KeyError:
        raise not_found() from None
    return redirect(f"{visit.hosting.urls.home}/_deliveries/{again.id}", 303)

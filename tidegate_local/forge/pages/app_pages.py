"""Apps: create one from a manifest that another site sends, and install it."""

from __future__ import annotations

from werkzeug.utils import redirect
from werkzeug.wrappers import Response

from tidegate_local.forge.codes import back_to
from tidegate_local.forge.manifests import read
from tidegate_local.forge.pages.visit import Visit


def ask(visit: Visit) -> Response:
    """Show the App that a manifest describes. Another site sends it, so that nothing is done yet."""
    text = visit.request.form.get("manifest", "")
    owner = visit.path.get("organization", visit.person.login)
    state = visit.request.args.get("state", "")
    return visit.show("new_app.html", app=read(text), manifest=text, owner=owner, state=state)


def create(visit: Visit) -> Response:
    """Make the App, and send the person back with a code."""
    form = visit.form()
    target, code = visit.hosting.manifests.create(
        form.get("manifest", ""), form.get("name", "").strip(), visit.person.login
    )
    return redirect(back_to(target, code, form.get("state", "")), 303)


def install(visit: Visit) -> Response:
    """Say that the App is installed: here it is on every organization."""
    return visit.show("installed.html", application=visit.hosting.manifests.asked().get("name", "Tidegate"))

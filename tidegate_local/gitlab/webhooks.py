"""The webhooks of an event: the one of the whole instance, and a project's own."""

from __future__ import annotations

from typing import Any

from tidegate_local.forge.hooks import Event
from tidegate_local.gitlab import disabling, shapes
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Hook, Project, User
from tidegate_local.gitlab.shapes import Json

#: The number of the webhook that every project has, as from its group: ``point_at`` says where it goes.
EVERYWHERE = 1
_SWITCHES = {
    "Push Hook": "push_events",
    "Merge Request Hook": "merge_requests_events",
    "Note Hook": "note_events",
    "Pipeline Hook": "pipeline_events",
    "Job Hook": "job_events",
}


def tell(hosting: Hosting, project: Project, name: str, payload: dict[str, Any]) -> None:
    """Send an event of a project, ``name`` as in X-Gitlab-Event, to all webhooks that want it and are not disabled."""
    action = payload.get("object_attributes", {}).get("action")
    # Deliveries keep the action for the switches that let webhooks go wrong.
    event = Event(name, project.repository, payload, project.id, EVERYWHERE, action)
    if _works(hosting, EVERYWHERE):
        hosting.webhooks.send(event)
    for hook in of(hosting, project):
        if getattr(hook, _SWITCHES[name]) and _works(hosting, hook.id):
            own = Event(name, project.repository, payload, project.id, hook.id, action)
            hosting.webhooks.send(own, (hook.url, hook.token))


def _works(hosting: Hosting, hook: int) -> bool:
    return disabling.status(hosting, hook)[0] == "executable"


def tell_of(hosting: Hosting, project: Project, name: str, who: User, payload: dict[str, Any]) -> None:
    """Send an event that somebody caused, with the parts that merge request and note hooks share."""
    kind = payload["object_kind"]
    shared: Json = {
        "object_kind": kind,
        "event_type": kind,
        "user": shapes.hook_user(who),
        "project": shapes.hook_project(hosting, project),
    }
    tell(hosting, project, name, {**shared, **payload})


def of(hosting: Hosting, project: Project) -> list[Hook]:
    """Return a project's own webhooks."""
    return hosting.store.find(Hook, project.repository)

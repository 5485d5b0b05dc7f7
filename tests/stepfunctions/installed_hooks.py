"""The hooks of an installation that has one at each kind of place, and all that is built in."""

from __future__ import annotations

from tidegate.clusters.rules.builtin_registrars import BUILTIN
from tidegate.clusters.rules.registrar import Binder, Hook, Registrar


class Announcing(Registrar):
    """Tells a chat what happens. It has a hook at each end, and around the first task."""

    name = "announcing"

    def bind(self, binder: Binder) -> None:
        binder.before_workflow(_hook("begun"))
        binder.before("validate", _hook("validating"))
        binder.after("validate", _hook("valid"))
        binder.after_workflow(_hook("completed"))
        binder.on_error(_hook("failed"))
        binder.always(_hook("over"))


def _hook(word: str) -> Hook:
    return Hook(word, f"Tells the chat that it is {word}.", function="chat")


INSTALLED = (*BUILTIN.values(), Announcing())

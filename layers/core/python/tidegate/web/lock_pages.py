"""Locks of stacks and repositories, and manual locking: routes of the API, and forms of the pages."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from tidegate.deploys.queue.lock import lock_queue
from tidegate.deploys.rules.locking import asked_lock
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.repository_locks import WHOLE
from tidegate.ports import Ports
from tidegate.requests.lock_many import lock_many, may_lock_many, unlock_many
from tidegate.roots.rules.root import queue_id, root_name
from tidegate.rules.decision import Decision
from tidegate.web import models, request_models
from tidegate.web.api import described
from tidegate.web.authorization import Access
from tidegate.web.refusals import NotGranted, ensure_done
from tidegate.web.rendering import address, see_other


class LockPages:
    """Adds the routes of locks to a resolver."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.post("/queue/lock", **hidden)(lambda: self._lock_queue(app))
        app.post("/locks", **hidden)(lambda: self._lock_form(app))
        app.post("/locks/remove", **hidden)(lambda: self._unlock_form(app))
        self._api(app)

    def _api(self, app: APIGatewayHttpResolver) -> None:
        @app.post(
            "/api/v1/locks",
            summary="Lock all roots of a repository, or of a stack: merges wait",
            tags=["queues"],
            responses=described(200, "The lock", models.Locked, 403, 404, 409),
        )
        def lock(asked: Annotated[request_models.ScopedLockRequest, Body()]) -> models.Locked:
            decision = self._lock(app.context["access"], asked.stack, asked.reason, asked.duration)
            ensure_done(decision)
            return models.Locked(message=decision.reason)

        @app.post(
            "/api/v1/locks/remove",
            summary="Unlock a repository or a stack",
            tags=["queues"],
            responses=described(200, "The result", models.Unlocked, 403, 404, 409),
        )
        def unlock(asked: Annotated[request_models.LockScope, Body()]) -> models.Unlocked:
            decision = self._unlock(app.context["access"], asked.stack)
            return models.Unlocked(unlocked=decision.done, message=decision.reason)

    def _lock(self, access: Access, stack: str, reason: str, duration: str) -> Decision:
        scope = self._allowed(access, stack)
        locking = asked_lock(access.login, self._ports.clock.now(), reason, duration)
        return lock_many(self._ports, access.repository, scope, locking)

    def _unlock(self, access: Access, stack: str) -> Decision:
        scope = self._allowed(access, stack)
        return unlock_many(self._ports, access.repository, scope, Unlocking(access.login, self._ports.clock.now()))

    def _allowed(self, access: Access, stack: str) -> str:
        """Return the scope, which is about all roots without a stack. Raise NotGranted."""
        scope = stack or WHOLE
        may = may_lock_many(self._ports, access.repository, scope, access.login)
        if not may.done:
            raise NotGranted(may.reason)
        return scope

    def _lock_queue(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, fields = app.context["access"], app.context["fields"]
        root = root_name(fields.get("root", ""))
        reason, duration = fields.get("reason", ""), fields.get("duration", "").strip()
        locking = asked_lock(access.login, self._ports.clock.now(), reason, duration)
        decision = lock_queue(self._ports, queue_id(access.repository, root), locking)
        ensure_done(decision)
        return see_other(address("/queue", repository=access.repository, root=root, done="locked"))

    def _lock_form(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, fields = app.context["access"], app.context["fields"]
        stack, reason, duration = (fields.get(name, "").strip() for name in ("stack", "reason", "duration"))
        decision = self._lock(access, stack, reason, duration)
        ensure_done(decision)
        return see_other(address(f"/repositories/{access.repository}", done="locked"))

    def _unlock_form(self, app: APIGatewayHttpResolver) -> Response[str]:
        access = app.context["access"]
        decision = self._unlock(access, app.context["fields"].get("stack", "").replace(WHOLE, ""))
        done = "unlocked" if decision.done else "not-locked"
        return see_other(address(f"/repositories/{access.repository}", done=done))

"""Fault injection into AWS calls, for tests: errors before or after the effect, delays, crashes.

A fault is JSON: ``service`` and ``action`` name the call (``*`` wildcards), ``role`` and ``function``
narrow who makes it, ``event`` what the function works on then; ``when`` is ``before`` (nothing happens)
or ``after`` (it happened, but the caller sees a failure); ``error`` is an error code
(``ThrottlingException``), ``status`` its HTTP status, ``delay`` seconds to wait, ``kill`` ends the calling
process instead of answering it; ``skip`` calls pass first, then ``times`` calls are hit (null: all).
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tidegate_local.aws.iam import matches


class Fault(BaseModel):
    """One fault; see the module's text for the fields."""

    model_config = ConfigDict(extra="forbid")

    service: str = "*"
    action: str = "*"
    role: str = "*"
    function: str = "*"
    event: str = "*"
    parameters: str = "*"
    when: Literal["before", "after"] = "before"
    error: str | None = None
    status: int = 400
    delay: float = Field(default=0, ge=0)
    kill: bool = False
    skip: int = 0
    times: int | None = 1
    writes_only: bool = False


@dataclass(slots=True)
class _Active:
    fault: Fault
    seen: int = 0
    hits: int = 0


@dataclass(slots=True)
class Faults:
    """The active faults."""

    _active: dict[str, _Active] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> str:
        """Activate a fault; return its id."""
        fault_id = uuid.uuid4().hex
        with self._lock:
            self._active[fault_id] = _Active(fault)
        return fault_id

    def remove(self, fault_id: str | None = None) -> None:
        """Deactivate one fault, or all."""
        with self._lock:
            self._active = {
                key: value for key, value in self._active.items() if fault_id is not None and key != fault_id
            }

    def hits(self) -> dict[str, int]:
        """Return how often each active fault has struck."""
        return {fault_id: active.hits for fault_id, active in self._active.items()}

    def striking(self, call: str, who: tuple[str, str, str], *, write: bool, parameters: str) -> Fault | None:
        """Return the fault that strikes this call (``service:action``) of (role, function, event), if one does."""
        if not self._active:
            return None
        role, function, event = who
        with self._lock:
            for active in self._active.values():
                fault = active.fault
                if not (
                    matches(f"{fault.service}:{fault.action}", call)
                    and matches(fault.role, role)
                    and matches(fault.function, function)
                    and matches(fault.event, event)
                    and matches(fault.parameters, parameters)
                    and (write or not fault.writes_only)
                ):
                    continue
                active.seen += 1
                if active.seen > fault.skip and (fault.times is None or active.hits < fault.times):
                    active.hits += 1
                    return fault
        return None

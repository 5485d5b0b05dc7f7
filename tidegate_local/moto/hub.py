"""Callbacks from moto's parts to the rest of the local cloud (moto's backends are global, so is this)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Hub:
    """Callbacks and signals. The local cloud sets the callbacks when it starts.

    ``message_arrived(queue)`` is called for each SQS message; ``invoke_target(target, event)`` for each
    function or topic that is the target of a matched EventBridge rule; ``execution_changed(execution)`` for
    each status of a Step Functions execution; ``client(role, region, service)`` returns a boto3 client with the
    role's credentials; ``log(group, stream, lines)`` writes to CloudWatch Logs.
    """

    message_arrived: Callable[[str], None] = lambda _queue: None
    invoke_target: Callable[[dict[str, Any], dict[str, Any]], None] = lambda _target, _event: None
    execution_changed: Callable[[Any], None] = lambda _execution: None
    client: Callable[[str, str, str], Any] = lambda _role, _region, _service: None
    log: Callable[[str, str, list[str]], None] = lambda _group, _stream, _lines: None
    state_machine_logging: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    ends: int = 0
    _ended: threading.Condition = field(default_factory=threading.Condition)

    def wake_waiting(self) -> None:
        """Wake everything that waits for an execution's end."""
        with self._ended:
            self.ends += 1
            self._ended.notify_all()

    def wait_for_end(self, ends: int, seconds: float) -> None:
        """Wait until more executions than ``ends`` have ended, for ``seconds`` at most."""
        with self._ended:
            self._ended.wait_for(lambda: self.ends != ends, seconds)


HUB = Hub()

"""What AWS answers when it refuses, and of which calls: faults that the local cloud injects."""

from __future__ import annotations

from typing import Any

#: An error that is never retried, by state machines or by clients.
FOR_GOOD = {"error": "AccessDeniedException", "status": 400}
THROTTLED = {"error": "TooManyRequestsException", "status": 429}
#: What DynamoDB says when it cannot answer, with a status that its client does not retry by itself.
UNAVAILABLE = {"error": "ServiceUnavailable", "status": 400}


def calls(pattern: str, service: str, action: str, how: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a fault of the calls that have ``pattern`` in their parameters."""
    return {"service": service, "action": action, "parameters": f"*{pattern}*", **how, **more}


def invokes(step: str, pattern: str, how: dict[str, Any], times: int | None = 1) -> dict[str, Any]:
    """Return a fault of a state's invocation of a function for a step."""
    return calls(f'"kind": "{step}"*{pattern}', "lambda", "Invoke", how, times=times)


def throttled_then_unavailable(step: str, pattern: str) -> list[dict[str, Any]]:
    """Return faults of a step whose function is throttled once, and once more cannot reach its table."""
    table = calls(pattern, "dynamodb", "*", UNAVAILABLE, event=f'*"kind": "{step}"*')
    return [invokes(step, pattern, THROTTLED), table]

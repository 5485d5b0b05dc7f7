"""Start the runner of a plan on Lambda.

Of two starts, the second finds that its job is taken, and does nothing.
"""

from __future__ import annotations

from tidegate.messages import StartOnLambda
from tidegate.ports import Ports


def start_on_lambda(ports: Ports, message: StartOnLambda) -> None:
    """Request the function call. Raise CloudUnavailable."""
    ports.plan_functions.start(message.function, message.job, message.digest, message.token)

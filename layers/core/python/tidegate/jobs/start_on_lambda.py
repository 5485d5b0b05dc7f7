"""Start the runner of a plan on Lambda.

Started twice, the second finds that nobody waits for it, and does nothing.
"""

from __future__ import annotations

from tidegate.messages import StartOnLambda
from tidegate.ports import Ports


def start_on_lambda(ports: Ports, message: StartOnLambda) -> None:
    """Have the function called soon. Raise CloudUnavailable."""
    ports.plan_functions.start(message.function, message.job, message.digest, message.token)

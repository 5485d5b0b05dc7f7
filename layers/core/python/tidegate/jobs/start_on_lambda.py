"""Start the runner of a plan on Lambda."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.messages import StartOnLambda
from tidegate.ports import PlanFunctions


@dataclass(frozen=True, slots=True)
class LambdaStarter:
    """Starts runners. Started twice, the second finds that nobody waits for it, and does nothing."""

    functions: PlanFunctions

    def start(self, message: StartOnLambda) -> None:
        """Have the function called soon. Raise CloudUnavailable."""
        self.functions.start(message.function, message.job, message.digest, message.token)

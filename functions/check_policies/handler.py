"""*Evaluate the policies*: evaluates the policy sets of a plan."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("check_policies")

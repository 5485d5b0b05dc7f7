"""Every five minutes, or when a person invokes it with any event: repairs what events missed."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import reconcile
from tidegate.telemetry import observed

lambda_handler = observed(reconcile)

"""Every five minutes, or when invoked by a person with any event: reconciles what events missed."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import reconcile
from tidegate.telemetry import observed

lambda_handler = observed(reconcile)

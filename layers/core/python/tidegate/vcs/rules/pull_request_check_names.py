"""Names of the check runs of pull requests, which branch protection uses."""

from __future__ import annotations

#: The check run of the whole.
WHOLE = "tidegate/plan"
_POLICY = "tidegate/policy: "


def policy_check_name(policy_set: str) -> str:
    """Return the name of a policy set's check run."""
    return f"{_POLICY}{policy_set}"


def is_of_pull_request(name: str) -> bool:
    """Tell whether a check run of this name shows a pull request, or a policy set on one."""
    return name == WHOLE or name.startswith((f"{WHOLE}: ", _POLICY))

"""The engine that evaluates policies, and the policies that an organization stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.policies.rules.policy import PolicyVerdict
    from tidegate.policies.rules.tested_policies import TestedPolicies


class PolicyEngine(Protocol):
    """Evaluates Rego. Policies are untrusted code: whatever they do, an answer comes within a time limit."""

    def check(
        self, policy_set: str, files: Mapping[str, bytes], namespaces: Sequence[str], plan: bytes, seconds: int
    ) -> PolicyVerdict:
        """Return a set's verdict on a plan, the engine's JSON. ``files`` are its policies and data by path.

        If it cannot be evaluated within ``seconds``, the verdict has an ``error``.
        """

    def test(self, files: Mapping[str, bytes], seconds: int) -> TestedPolicies:
        """Run the tests among the files: the rules ``test_…`` of all packages, within ``seconds``."""


class OrganizationPolicies(Protocol):
    """The policy sets that the organization stored for all repositories."""

    def read(self, policy_set: str) -> Mapping[str, bytes | None]:
        """Return the files of a set by path; empty if there are none. Raise CloudUnavailable.

        None stands for a file larger than 1 MiB.
        """

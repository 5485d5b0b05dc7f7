"""Policies in memory: an engine that says what it is told to, and the organization's sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.policies.rules.policy import PolicyVerdict
from tidegate.policies.rules.tested_policies import TestedPolicies


@dataclass(slots=True)
class MemoryPolicyEngine:
    """The port ``PolicyEngine``: ``verdicts`` by set, else an empty one; ``asked`` is what it was asked, in order."""

    verdicts: dict[str, PolicyVerdict] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, bytes], tuple[str, ...], bytes, int]] = field(default_factory=list)

    def check(
        self, policy_set: str, files: Mapping[str, bytes], namespaces: Sequence[str], plan: bytes, seconds: int
    ) -> PolicyVerdict:
        self.asked.append((policy_set, files, tuple(namespaces), plan, seconds))
        return self.verdicts.get(policy_set, PolicyVerdict(policy_set))

    def test(self, files: Mapping[str, bytes], seconds: int) -> TestedPolicies:
        raise NotImplementedError


@dataclass(slots=True)
class MemoryOrganizationPolicies:
    """The port ``OrganizationPolicies``: files of sets by their names."""

    sets: dict[str, dict[str, bytes | None]] = field(default_factory=dict)

    def read(self, policy_set: str) -> Mapping[str, bytes | None]:
        return self.sets.get(policy_set, {})

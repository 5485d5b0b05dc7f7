"""Providers: what makes clusters. ``protocol.py`` has what each must do."""

from __future__ import annotations

from runner.clusters.providers.protocol import Provider
from runner.clusters.work import Work
from runner.job import Preparation
from tidegate.deploys.rules.cluster import ProviderName
from tidegate.deploys.rules.job import TakenJob


def provider_of(work: Work, preparation: Preparation, taken: TakenJob) -> Provider:
    """Return the provider of a cluster. Each import is for those that use it."""
    name = work.order.cluster.provider
    if name is ProviderName.SIMULATED:
        from runner.clusters.providers.simulated import Simulated  # noqa: PLC0415

        return Simulated(work)
    if name is ProviderName.EXISTING:
        from runner.clusters.providers.existing import Existing  # noqa: PLC0415

        return Existing(work)
    if name is ProviderName.COMMAND:
        from runner.clusters.providers.command import Command  # noqa: PLC0415

        return Command(work)
    from runner.clusters.providers.terraform import Terraform  # noqa: PLC0415

    return Terraform(work, preparation, taken)

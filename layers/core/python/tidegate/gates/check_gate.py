"""Read the pending dependencies of a deployment at a gate, in few reads, however large its change is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, dependency, waits_for
from tidegate.deploys.texts.dependencies import are_enough, waited_for
from tidegate.deploys.texts.presentation import PendingDependency, WaitedFor
from tidegate.ports import ChangeSets, CheckRuns, Deployments, ForgeUrls

#: Records in one read, and reads at most: further dependencies are only counted.
_AT_ONCE = 100
_READS = 10


@dataclass(frozen=True, slots=True)
class GateChecker:
    """Reads dependencies at gates: the change once, then as many records as fill the list, mostly in one read."""

    change_sets: ChangeSets
    deployments: Deployments
    check_runs: CheckRuns
    addresses: ForgeUrls

    def look(self, deployment: Deployment) -> WaitedFor | None:
        """Return the deployment's pending dependencies, with links; None if it is at no gate."""
        if deployment.state not in WAITING or not deployment.change.id:
            return None
        members = self.change_sets.deployments(deployment.change.id)
        awaited = [each for each in members if waits_for(deployment, each.root, each.stack)]
        looked_at = []
        for start in range(0, min(len(awaited), _AT_ONCE * _READS), _AT_ONCE):
            some = awaited[start : start + _AT_ONCE]
            records = self.deployments.many([each.deployment for each in some])
            looked_at += [dependency(each.root, each.stack, records.get(each.deployment)) for each in some]
            if are_enough(deployment, looked_at):
                break
        ids = {(each.root, each.stack): each.deployment for each in awaited}
        return self._linked(deployment, waited_for(deployment, looked_at, len(awaited)), ids)

    def _linked(self, deployment: Deployment, found: WaitedFor, ids: dict[tuple[str, str], str]) -> WaitedFor:
        published = self.check_runs.many([ids[each.root, each.stack] for each in found.named]) if found.named else {}

        def linked(each: PendingDependency) -> PendingDependency:
            shown = published.get(ids[each.root, each.stack])
            url = self.addresses.check_run_url(deployment.repository, shown.id) if shown else ""
            return replace(each, url=url)

        return replace(found, named=tuple(linked(each) for each in found.named))

"""Let promotions go on that wait for stacks of a repository of which a deployment ended."""

from __future__ import annotations

from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.rules.promotion import Promotion, Stage
from tidegate.messages.queues import FollowStacks
from tidegate.ports import Ports


def follow_stacks(ports: Ports, message: FollowStacks) -> None:
    """Evaluate the promotions of each config repository in which one waits for a stack of ``message.repository``.

    A repeated call is harmless, and the reconciler evaluates them too. Raise as ``review_promotions`` does.
    """
    for each in sorted(ports.config_updates.repositories()):
        if any(_waits_for(one, message.repository) for one in ports.config_updates.open_promotions(each)):
            review_promotions(ports, each)


def _waits_for(promotion: Promotion, repository: str) -> bool:
    following = promotion.following
    if following is None or promotion.stage is not Stage.AFTER:
        return False
    return any(each.repository == repository for each in following.stacks)

"""Put a complete image set into the queue for the next environment."""

from __future__ import annotations

from tidegate.config_updates.promotions.promotion_steps import find_promotion
from tidegate.config_updates.promotions.review_promotions import save_promotion
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.rules.entry import EntryKind, UpdateEntry
from tidegate.config_updates.rules.promotion import Promotion, PromotionSource, Stage, ended
from tidegate.config_updates.rules.queue import with_entry
from tidegate.messages.config_updates import PromoteEntry, PromotionMoved
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def promote_entry(ports: Ports, message: PromoteEntry) -> PromotionMoved:
    """Enqueue the promotion to the next environment, once, and end this one. A repeated call is harmless.

    Raise NotFound, Conflict, CloudUnavailable.
    """
    reason = deciding_again(lambda: _enqueue(ports, find_promotion(ports, message)))
    wake_worker(ports, message.repository)
    deciding_again(lambda: _end(ports, find_promotion(ports, message), reason))
    return PromotionMoved(next="ended", reason=reason)


def _enqueue(ports: Ports, promotion: Promotion) -> str:
    """Return what became of the promotion, as a sentence."""
    following = promotion.following
    if promotion.stage is Stage.ENDED or following is None:
        return promotion.reason
    store, repository = ports.config_updates, promotion.repository
    announced = store.entry(repository, promotion.entry)
    source = PromotionSource(
        repository,
        promotion.image_set,
        promotion.environment,
        promotion.commit,
        promotion.identity,
        announced.app_sha,
        announced.sequence,
    )
    by = promotion.approved_by or announced.by
    entry = source.entry_to(following.name, by, ports.clock.now(), promotion.approvals)
    done = f"It is promoted to {following.name}."
    if store.entries(repository, [entry.id]):
        return done
    head = store.head(repository)
    there = store.environment(repository, *entry.environment_key)
    if there.newest is not None and there.newest.identity == promotion.identity:
        return f"{following.name} runs it already."
    on_its_way = [*head.open, *([there.newest.entry] if there.newest is not None and there.newest.entry else [])]
    others = [
        each for each in store.entries(repository, on_its_way).values() if each.environment_key == entry.environment_key
    ]
    if _is_behind(ports, promotion, others):
        return f"{following.name} has a newer image set, or one is on its way."
    store.commit(head, with_entry(head, entry), [entry])
    return done


def _is_behind(ports: Ports, promotion: Promotion, others: list[UpdateEntry]) -> bool:
    """Tell whether one of these promotions copies the same image set, or a newer one of the same environment."""
    landed = ports.config_updates.environment(promotion.repository, *promotion.environment_key).landed
    identities = [each.identity for each in landed]
    at = identities.index(promotion.identity) if promotion.identity in identities else len(identities)
    newer = {promotion.commit, *(each.commit for each in landed[: at + 1])}
    return any(each.kind is EntryKind.PROMOTION and each.source_sha in newer for each in others)


def _end(ports: Ports, promotion: Promotion, reason: str) -> None:
    if promotion.stage is not Stage.ENDED:
        save_promotion(ports, ended(promotion, reason))

"""Put a complete image set into the queue for the next environment."""

from __future__ import annotations

from tidegate.config_updates.promotions.promotion_steps import find_promotion
from tidegate.config_updates.promotions.review_promotions import save_promotion
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.rules.answers import full_because
from tidegate.config_updates.rules.entry import EntryKind, UpdateEntry
from tidegate.config_updates.rules.promotion import Promotion, PromotionSource, Stage, ended
from tidegate.config_updates.rules.queue import UpdateHead, with_entry
from tidegate.messages.config_updates import EntryPromoted, PromoteEntry
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def promote_entry(ports: Ports, message: PromoteEntry) -> EntryPromoted:
    """Enqueue the promotion to the next environment, once, and end this one. A repeated call is harmless.

    If others have filled the queue since the promotion waited, nothing changes: it waits on. Raise NotFound, Conflict,
    CloudUnavailable.
    """
    promoted = deciding_again(lambda: _enqueue(ports, find_promotion(ports, message)))
    if not promoted.full:
        wake_worker(ports, message.repository)
        deciding_again(lambda: _end(ports, find_promotion(ports, message), promoted.reason))
    return promoted


def _enqueue(ports: Ports, promotion: Promotion) -> EntryPromoted:
    """Return what became of the promotion."""
    following = promotion.following
    if promotion.stage is Stage.ENDED or following is None:
        return EntryPromoted(full=False, reason=promotion.reason)
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
    done = EntryPromoted(full=False, reason=f"It is promoted to {following.name}.")
    if store.entries(repository, [entry.id]):
        return done
    head = store.head(repository)
    if needless := _needless(ports, head, promotion, entry):
        return EntryPromoted(full=False, reason=needless)
    if full := full_because(head):
        return EntryPromoted(full=True, reason=full)
    store.commit(head, with_entry(head, entry), [entry])
    return done


def _needless(ports: Ports, head: UpdateHead, promotion: Promotion, entry: UpdateEntry) -> str:
    """Return why the next environment does not need the image set, as a sentence; empty if it does."""
    newest = ports.config_updates.environment(promotion.repository, *entry.environment_key).newest
    if newest is not None and newest.identity == promotion.identity:
        return f"{entry.environment} runs it already."
    landed = (newest.entry,) if newest is not None and newest.entry else ()
    known = ports.config_updates.entries(promotion.repository, (*head.open, *landed)).values()
    others = [each for each in known if each.environment_key == entry.environment_key]
    if _is_behind(ports, promotion, others):
        return f"{entry.environment} has a newer image set, or one is on its way."
    return ""


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

"""What there is to look at, in every store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, amended, any_deployment, any_queue, any_root, sha
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.queue import Lock
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.summary import summary_of
from tidegate.ports import KnownRepository, RepositoryNames
from tidegate.rules.errors import NotFound

LATER = utc("2026-03-02T10:00")


def known(name: str = REPOSITORY, **fields) -> KnownRepository:
    return replace(KnownRepository(name, "main", sha(1), NOW), **fields)


def enqueued(stores, *numbers: int, root: str = "network", **fields):
    found = [any_deployment(number, root=any_root(name=root), **fields) for number in numbers]
    for deployment in found:
        stores.queues.enqueue(deployment)
    return found


def test_repositories_are_listed_by_name(stores):
    for name in ("acme/b", "acme/a"):
        stores.repository_index.remember(known(name))
    assert list(stores.repository_index.repositories()) == [known("acme/a"), known("acme/b")]
    assert stores.repository_index.repository("acme/b") == known("acme/b")


def test_there_is_no_repository_that_tidegate_was_never_told_of(stores):
    assert list(stores.repository_index.repositories()) == []
    with pytest.raises(NotFound, match="acme/unknown"):
        stores.repository_index.repository("acme/unknown")


def test_what_was_told_later_stands_whatever_comes_first(stores):
    newer = known(seen=sha(2), seen_at=LATER)
    for told in (newer, known()):
        stores.repository_index.remember(told)
    assert stores.repository_index.repository(REPOSITORY) == newer
    stores.repository_index.remember(replace(newer, default_branch="trunk"))
    assert stores.repository_index.repository(REPOSITORY).default_branch == "trunk"


def test_the_roots_of_a_repository_are_listed_with_their_locks_and_without_tokens(stores):
    enqueued(stores, 1, 2, root="orders")
    enqueued(stores, 1, root="network")
    enqueued(stores, 1, repository="acme/other")
    head, _ = stores.queues.read(any_queue("orders"))
    lock = Lock("maintainer", NOW, sha(1), "Somebody looks.")
    stores.queues.commit(head, replace(head, lock=lock, token="a task token"))
    network, orders = stores.repository_index.roots(REPOSITORY)
    assert [network.root_name, orders.root_name] == ["network", "orders"]
    assert (orders.lock, orders.length, orders.token) == (lock, 2, None)
    assert orders.home == REPOSITORY


def test_a_repository_without_deployments_has_no_roots(stores):
    assert list(stores.repository_index.roots(REPOSITORY)) == []


def test_deployments_of_a_root_come_newest_first_in_pages(stores):
    deployments = enqueued(stores, *range(1, 6))
    enqueued(stores, 9, root="orders")
    newest = [summary_of(deployment) for deployment in reversed(deployments)]
    first = stores.repository_index.of_queue(any_queue(), 2)
    second = stores.repository_index.of_queue(any_queue(), 2, first.next)
    third = stores.repository_index.of_queue(any_queue(), 2, second.next)
    assert [*first.deployments, *second.deployments, *third.deployments] == newest
    assert third.next is None


def test_a_page_that_holds_all_has_no_next(stores):
    enqueued(stores, 1, 2)
    assert stores.repository_index.of_queue(any_queue(), 2).next is None
    assert stores.repository_index.of_queue("acme/none||network", 2).deployments == ()


def test_deployments_that_were_asked_for_at_the_same_time_are_each_shown_once(stores):
    enqueued(stores, *range(1, 6), requested_at=NOW)
    shown, after = [], None
    for _ in range(5):
        page = stores.repository_index.of_queue(any_queue(), 1, after)
        shown += [deployment.id for deployment in page.deployments]
        after = page.next
    assert after is None
    assert len(set(shown)) == len(shown) == 5


def test_each_deployment_of_a_root_leads_to_the_one_after_it(stores):
    made = [summary_of(each) for each in enqueued(stores, 1, 2, 3, requested_at=NOW)]
    enqueued(stores, 4, root="orders")
    first, second, third = sorted(made, key=lambda each: each.id)
    newer = stores.repository_index.newer
    assert [newer(first), newer(second), newer(third)] == [second, third, None]


def test_the_roots_of_a_repository_are_read_page_by_page(stores):
    for root in ("network", "app", "orders"):
        enqueued(stores, 1, root=root)
    enqueued(stores, 1, repository="acme/other")
    pages, after = [], ""
    while after is not None:
        page = stores.repository_index.some_roots(REPOSITORY, 2, after)
        pages.append([head.root_name for head in page.heads])
        after = page.next
    assert [name for page in pages for name in page] == ["app", "network", "orders"]
    assert max(map(len, pages)) == 2
    assert stores.repository_index.some_roots("acme/none", 2).heads == ()
    assert stores.repository_index.some_roots(REPOSITORY, 9).heads == tuple(stores.repository_index.roots(REPOSITORY))


def test_deployments_of_a_repository_come_from_all_its_roots(stores):
    enqueued(stores, 1, 3, root="network")
    enqueued(stores, 2, root="orders")
    enqueued(stores, 4, repository="acme/other")
    shown = stores.repository_index.of_repository(REPOSITORY, 10).deployments
    assert [deployment.root.name for deployment in shown] == ["network", "orders", "network"]


def test_a_list_shows_what_became_of_a_deployment(stores):
    (deployment,) = enqueued(stores, 1)
    saved = stores.deployments.save(amended(deployment, state=State.REFUSED, reason="behind", last_lines="long"))
    assert stores.repository_index.of_queue(any_queue(), 1).deployments == (summary_of(saved),)


def test_a_list_tells_what_a_deployment_waits_for(stores):
    (deployment,) = enqueued(stores, 1, waits=Waits(apply_after=("staging",)))
    for page in (
        stores.repository_index.of_queue(any_queue(), 1),
        stores.repository_index.of_repository(REPOSITORY, 1),
    ):
        assert [one.change.waits for one in page.deployments] == [deployment.change.waits]


@pytest.mark.parametrize("after", ["x", "", "%", "W10", "bnVsbA", "a" * 1000, "ÿ"])
def test_what_is_no_place_in_a_list_is_not_found(stores, after):
    enqueued(stores, 1)
    with pytest.raises(NotFound):
        stores.repository_index.of_queue(any_queue(), 1, after)


def test_a_list_goes_on_after_any_deployment_of_it(stores):
    made = enqueued(stores, *range(1, 5), stack="eu", within=("prod",), change_set="c-1", layer=2)
    shown = stores.repository_index.of_repository(REPOSITORY, 10).deployments
    found = [(one.stack, one.within, one.change.id, one.change.layer) for one in shown]
    assert found == [("eu", ("prod",), "c-1", 2)] * 4
    for history, of in (
        (REPOSITORY, stores.repository_index.of_repository),
        (any_queue(), stores.repository_index.of_queue),
    ):
        after = stores.repository_index.after(history, shown[1])
        assert [one.id for one in of(history, 10, after).deployments] == [made[1].id, made[0].id]


def test_a_place_in_one_list_is_none_in_another(stores):
    enqueued(stores, 1, 2)
    after = stores.repository_index.of_queue(any_queue(), 1).next
    assert after is not None
    with pytest.raises(NotFound):
        stores.repository_index.of_repository(REPOSITORY, 1, after)


def test_the_names_of_repositories_are_kept_beside_these(stores):
    stores.repository_index.remember(known("acme/infra"))
    stores.repository_index.keep_names(RepositoryNames("acme/infra", ("app", "db"), ("prod",), ("fleet",)))
    stores.repository_index.keep_names(RepositoryNames("acme/infra", ("app",), ("prod",)))
    assert stores.repository_index.names() == [RepositoryNames("acme/infra", ("app",), ("prod",))]
    assert [each.name for each in stores.repository_index.repositories()] == ["acme/infra"]

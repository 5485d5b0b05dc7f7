"""The page of a repository: its roots in their stacks, and its latest changes."""

from __future__ import annotations

from dataclasses import replace

from tests.api.counted import STORES, Counted
from tests.builders import REPOSITORY, amended, any_deployed, any_drift, any_drift_finding, any_root, deployment_in
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.state import State

PAGE = f"/repositories/{REPOSITORY}"


def placed(wires, state, number, name, stack="default", **fields):
    """Store a deployment that ended or goes on so, as its queue would."""
    one = wires.deployed(amended(deployment_in(state, number, root=any_root(name=name)), stack=stack, **fields))
    head, _ = wires.queues.read(one.queue)
    made = any_deployed(number, deployment=one.id)
    wires.queues.commit(head, replace(head, attempted=made, deployed=made))
    return one


def test_each_root_stands_in_its_stack_with_its_state_and_drift(wires, browser):
    applied = placed(wires, State.APPLIED, 1, "dev/network", "dev")
    failed = placed(wires, State.APPLY_FAILED, 2, "prod/network", "prod")
    wires.drifts.save(any_drift(findings=(replace(any_drift_finding("dev/network"), stack="dev"),)))
    page = browser.get(PAGE)
    assert '<th scope="col">dev</th><th scope="col">prod</th>' in page.body
    assert f'<td data-label="dev"><a href="/deployments/{applied.id}">' in page.body.replace("\n", "")
    assert f'<td data-label="prod"><a href="/deployments/{failed.id}">' in page.body.replace("\n", "")
    assert page.text.count("Drifted") == 1


def test_a_change_is_one_row_of_the_history(wires, browser):
    changed = [placed(wires, state, n, f"root-{n}", change_set="c-1") for n, state in enumerate((State.APPLIED,) * 3)]
    page = browser.get(PAGE)
    assert page.body.count('href="/changes/c-1"') == 1
    assert "3 applied" in page.text
    assert f'href="/deployments/{changed[0].id}"' in page.body


def test_the_stacks_of_a_change_stand_in_the_order_of_their_deploys(wires, browser):
    names = ("dev", "staging", "prod")
    for number, name in enumerate(names):
        waits = Waits(apply_after=names[:number])
        placed(wires, State.APPLIED, number, f"{name}/network", name, change_set="c-1", waits=waits)
    page = browser.get(PAGE)
    assert '<td data-label="Stacks">dev, staging, prod</td>' in page.body


def test_a_thousand_roots_are_shown_in_pages_that_take_at_most_fifteen_reads(wires, browser):
    for number in range(1000):
        placed(wires, State.APPLIED, number, f"root-{number:04}", change_set=f"c-{number}")
    calls = []
    wires.put(**{name: Counted(getattr(wires, name), calls) for name in STORES})
    page = browser.get(PAGE)
    assert "root-0099" in page.text
    assert 'href="/queue?repository=acme%2Finfra&amp;root=root-0100"' not in page.body
    assert 'rel="next"' in page.body
    assert sum(reads for _, reads in calls) <= 15
    assert "root-0100" in browser.get(f"{PAGE}?after=root-0099").text

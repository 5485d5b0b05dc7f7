"""Whose approvals count for a policy set, and where it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_layer, any_plan, sha
from tests.instants import utc
from tidegate.deploys.rules.approval import SetState, policy_statuses, refused
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.rules.access import Person
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.approvals import Approvals, Disregarded, ToApprove, approvals
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict

HEAD, OLD, AUTHOR = sha(3), sha(2), "author"
SRE = PolicySetStatus("network", owners=("team:sre",))
DENIED = PolicyFinding(Severity.DENY, "main.deny", "no")
PEOPLE = {
    "ann": Person("ann", Permission.READ, frozenset({"sre"})),
    "bob": Person("bob", Permission.WRITE, frozenset({"sre"})),
    "eve": Person("eve", Permission.ADMIN),
    "mallory": Person("mallory", Permission.NONE, frozenset({"sre"})),
    AUTHOR: Person(AUTHOR, Permission.ADMIN, frozenset({"sre"})),
}


def review(by, verdict=ReviewVerdict.APPROVED, commit=HEAD):
    return PullRequestReview(by, verdict, commit, utc("2026-03-02T08:00"))


def layer(*findings, held=SRE, root="network", **fields):
    verdicts = (PolicyVerdict(held.name, findings),)
    state = {"state": LayerState.PLANNED, "plan": any_plan(), "policy_sets": (held,), "verdicts": verdicts}
    return any_layer(root, **{**state, **fields})


def standing(*layers, reviews=(), people=PEOPLE):
    (found,) = policy_statuses(layers, HEAD, approvals(reviews, ToApprove(HEAD, AUTHOR)), people)
    return found


def test_a_plan_that_nothing_is_said_of_passes():
    found = standing(layer())
    assert (found.state, found.blocks) == (SetState.PASSED, False)


def test_a_warning_does_not_block():
    found = standing(layer(PolicyFinding(Severity.WARN, "main.warn", "hm")))
    assert (found.state, found.blocks) == (SetState.WARNED, False)


def test_a_set_that_refuses_a_plan_blocks_until_an_owner_approves_the_head():
    denied = layer(DENIED)
    assert standing(denied).state is SetState.FAILED
    assert standing(denied).blocks
    found = standing(denied, reviews=[review("ann")])
    assert (found.state, found.approved_by, found.blocks) == (SetState.APPROVED, ("ann",), False)


def test_approvals_that_do_not_count_are_named_with_their_reasons():
    found = standing(
        layer(DENIED), reviews=[review("ann", commit=OLD), review(AUTHOR), review("eve"), review("mallory")]
    )
    assert found.state is SetState.FAILED
    assert found.disregarded == (
        Disregarded("ann", f"approved {OLD[:7]}, which is no longer the head"),
        Disregarded(AUTHOR, "is the author"),
        Disregarded("eve", "is not an owner of it"),
        Disregarded("mallory", "is not an owner of it"),
    )


def test_the_latest_verdict_of_a_person_counts_and_a_comment_is_none():
    approved, comment = review("ann"), review("Ann", ReviewVerdict.COMMENTED)
    asked = review("ANN", ReviewVerdict.CHANGES_REQUESTED)
    assert approvals([approved, comment], ToApprove(HEAD, AUTHOR)).of_head == ("ann",)
    assert approvals([approved, asked], ToApprove(HEAD, AUTHOR)) == Approvals()
    assert approvals([asked, approved], ToApprove(HEAD, AUTHOR)).of_head == ("ann",)
    assert approvals([approved, review("ann", ReviewVerdict.DISMISSED)], ToApprove(HEAD, AUTHOR)) == Approvals()


def test_as_many_different_owners_are_needed_as_the_set_asks_for():
    held = PolicySetStatus("network", owners=("team:sre", "user:Bob"), approvals=2)
    denied = layer(DENIED, held=held)
    assert standing(denied, reviews=[review("bob"), review("BOB")]).state is SetState.FAILED
    assert standing(denied, reviews=[review("ann"), review("bob")]).state is SetState.APPROVED


def test_nobody_approves_a_set_without_owners():
    assert standing(layer(DENIED, held=PolicySetStatus("network")), reviews=[review("eve")]).state is SetState.FAILED


def test_one_plan_that_is_refused_is_enough_and_one_approval_is_for_all():
    found = standing(layer(), layer(DENIED, root="dns"), layer(DENIED, root="vpn"))
    assert found.state is SetState.FAILED
    assert len(found.judged) == 3
    assert refused([layer(), layer(DENIED)]) == (SRE,)
    assert refused([layer()]) == ()


def test_a_plan_that_is_not_judged_yet_keeps_the_set_waiting_whoever_approves():
    waiting = any_layer("dns", policy_sets=(SRE,))
    unjudged = layer(root="vpn", verdicts=())
    for other in (waiting, unjudged):
        found = standing(layer(), other)
        assert (found.state, found.missing, found.blocks) == (SetState.WAITING, (other,), True)
        assert standing(layer(DENIED), other, reviews=[review("ann")]).state is SetState.WAITING
        assert standing(layer(DENIED), other).state is SetState.FAILED


def test_a_plan_that_cannot_be_judged_any_more_blocks_whoever_approves():
    for state in (LayerState.FAILED, LayerState.REFUSED):
        for plan in (None, any_plan()) if state is LayerState.FAILED else (None,):
            gone = any_layer("dns", policy_sets=(SRE,), state=state, plan=plan)
            assert standing(layer(), gone, reviews=[review("ann")]).state is SetState.UNKNOWN


def test_cancelled_layers_and_those_without_the_set_do_not_matter():
    found = standing(layer(), any_layer("dns", policy_sets=(SRE,), state=LayerState.CANCELLED), any_layer("vpn"))
    assert (found.state, found.missing) == (SetState.PASSED, ())


def test_sets_stand_side_by_side_by_their_names():
    other = PolicySetStatus("costs", owners=("user:eve",))
    both = layer(
        policy_sets=(SRE, other),
        verdicts=(PolicyVerdict("network", (DENIED,)), PolicyVerdict("costs", (DENIED,))),
    )
    found = policy_statuses([both], HEAD, approvals([review("eve")], ToApprove(HEAD, AUTHOR)), PEOPLE)
    assert [(each.policy_set.name, each.state) for each in found] == [
        ("costs", SetState.APPROVED),
        ("network", SetState.FAILED),
    ]


@given(
    st.lists(
        st.builds(
            review,
            st.sampled_from([*PEOPLE, "ANN", "stranger"]),
            st.sampled_from(ReviewVerdict),
            st.sampled_from([HEAD, OLD]),
        ),
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_a_refusing_set_passes_only_by_enough_owners_whose_last_word_on_the_head_is_yes(reviews, needed):
    held = PolicySetStatus("network", owners=("team:sre",), approvals=needed)
    found = standing(layer(DENIED, held=held), reviews=reviews)
    last = {each.by.casefold(): each for each in reviews if each.verdict is not ReviewVerdict.COMMENTED}
    yes = {
        name
        for name, each in last.items()
        if each.verdict is ReviewVerdict.APPROVED and each.sha == HEAD and name in {"ann", "bob"}
    }
    # A person is known under the name of their last review.
    known = {name for name in yes if last[name].by in PEOPLE}
    assert {each.casefold() for each in found.approved_by} == known
    assert found.blocks is (len(known) < needed)
    assert AUTHOR not in found.approved_by


def test_a_plan_with_options_is_no_verdict_of_any_set():
    """Whoever may ask for a plan of less than all could let a set pass by what they leave out."""
    looked_at = layer(options=("-target=a.b",))
    found = standing(looked_at)
    assert (found.state, found.blocks, found.missing) == (SetState.UNKNOWN, True, (looked_at,))

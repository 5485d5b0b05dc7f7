"""What is said of plans besides themselves, and that it neither runs on for ever nor becomes markup."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_layer, any_pull_request_record
from tests.pull_request_layers import comment_of, failed, planned, unchanged
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.pull_requests.rules.apply import ApplyView
from tidegate.pull_requests.rules.apply_progress import ApplyProgress
from tidegate.pull_requests.rules.comment import MAXIMUM_COMMENT, render_comment
from tidegate.pull_requests.rules.record import Overtaken
from tidegate.pull_requests.rules.remarks import not_planned, older, with_options
from tidegate.texts.markdown import size
from tidegate.vcs.rules.approvals import Disregarded


def overtaken(*roots):
    return replace(any_pull_request_record(), overtaken=roots, base_now="f" * 40).older


def test_nothing_is_said_where_there_is_nothing_to_say():
    assert (older(None), with_options([any_layer()]), not_planned("", "", 1000)) == ("", "", "")
    assert any_pull_request_record().older is None


def test_a_record_says_what_moved_on():
    told = str(overtaken("app", "db"))
    assert told.startswith("main has moved on to fffffff since this was planned on 0000000, and changed app and db")
    assert " and changed app, or the rules for it" in str(overtaken("app"))
    assert "r8, r9 and 2 more" in str(overtaken(*(f"r{number}" for number in range(12))))


def test_options_are_grouped_by_what_was_given():
    layers = [any_layer("a", options=("-x", "-y")), any_layer("b", options=("-x", "-y")), any_layer("c")]
    assert "> * `a` and `b` with `-x` `-y`" in with_options(layers)
    many = [any_layer(f"r{number}", options=(f"-x={number}",)) for number in range(7)]
    assert with_options(many).endswith("> * and more with 2 others")
    assert "and 2 more" in with_options([any_layer(options=tuple(f"-x={number}" for number in range(7)))])


def test_a_comment_says_all_of_it():
    view = comment_of(planned("app", options=("-target=a.b",)), notice="One <b>.", notes="Two.", older=overtaken("app"))
    text = render_comment(view)
    assert "**Out of date:**" in text
    assert "`app` with `-target=a.b`" in text
    assert "### Not planned\n\n* One &lt;b&gt;\\.\n* Two" in text
    assert "Comment `tidegate plan` to plan without options, before the merge." in text


def test_the_comment_of_a_stack_tells_only_what_of_it_is_older():
    moved = overtaken("app", "db", "site")
    text = render_comment(comment_of(planned("app"), planned("db"), planned("site", stack="other"), older=moved))
    assert "**Out of date:** `main` has moved on to fffffff" in text
    assert "and changed `app` and `db`" in text
    other = render_comment(comment_of(planned("app"), planned("site", stack="other"), stack="other", older=moved))
    assert "and changed `site`" in other
    assert "Out of date" not in render_comment(comment_of(planned("network"), older=moved))


def test_who_reads_plans_that_are_out_of_date_is_told_to_plan_again_before_the_merge():
    again = "* Comment `tidegate plan`, because these plans are out of date, and read the new ones"
    assert f"{again}, then merge." in render_comment(comment_of(planned("app"), older=overtaken("app")))
    assert f"{again}, then merge." in render_comment(comment_of(unchanged("app"), older=overtaken("app")))
    other = comment_of(planned("app"), failed("site", stack="other"), older=overtaken("app"))
    assert f"{again}. Stack `other` blocks the merge." in render_comment(other)
    applied = ApplyView(ApplyRules(ApplyMode.IN_PULL_REQUEST), ApplyProgress(left=(("app", "default"),)))
    text = render_comment(comment_of(planned("app"), older=overtaken("app"), applied=applied))
    assert f"{again}. Then get it approved" in text
    assert "* Read the plans, then merge." in render_comment(comment_of(planned("app"), older=overtaken("site")))


def test_a_root_that_the_merge_does_not_deploy_is_said_to_be_none_of_it():
    text = render_comment(comment_of(planned("app"), planned("db", is_extra=True)))
    assert "* `db`: planned on request. The merge does not deploy it." in text
    assert "Tidegate plans each root again" in text
    alone = render_comment(comment_of(planned("db", is_extra=True)))
    assert "Tidegate plans each root again" not in alone
    assert "waits for a review" not in alone


@given(st.text(max_size=500), st.integers(0, 200), st.lists(st.text(max_size=500), max_size=20))
def test_however_much_there_is_to_say_a_comment_fits(text, times, options):
    notice = "\n".join([text] * times)
    moved = Overtaken(text or "main", "a" * 40, "b" * 40, ("app", *([text] * times)))
    view = comment_of(planned("app", options=tuple(options)), notice=notice, notes=notice, older=moved)
    assert size(render_comment(view)) <= MAXIMUM_COMMENT


def held_up(*verdicts, **fields):
    held = PolicySetStatus("network", owners=("team:sre",), approvals=2)
    finding = PolicyFinding(Severity.DENY, "main.deny", "no")
    view = planned("app", policy_sets=(held,), verdicts=(PolicyVerdict("network", (finding,)),))
    standing = Standing(held, head=view.layer.sha, **fields)
    return render_comment(replace(comment_of(view), policy_statuses=(standing,)))


def test_a_comment_follows_the_approvals_of_policy_sets():
    waiting = held_up(
        state=SetState.FAILED, approved_by=("ann",), disregarded=(Disregarded("bob", "is not an owner of it"),)
    )
    assert "**1 policy set fails.**" in waiting
    assert "* Policy set `network`: approved by `ann`, 1 of 2 approvals." in waiting
    assert "* The approval of `bob` does not count for `network`: `bob` is not an owner of it." in waiting
    assert "approved by" not in held_up(state=SetState.FAILED)
    approved = held_up(state=SetState.APPROVED, approved_by=("ann", "eve"))
    assert "Policy set `network` no longer blocks" in approved
    assert "fails" not in approved
    assert "approving review" not in approved
    assert "Policy set `network` holds" not in held_up(state=SetState.UNKNOWN)

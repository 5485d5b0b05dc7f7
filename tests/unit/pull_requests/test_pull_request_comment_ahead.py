"""What a pull request's comment says of locks and deploys that its merge would find."""

from __future__ import annotations

from tests.builders import any_lock
from tests.pull_request_layers import comment_of, failed, planned
from tidegate.pull_requests.rules.ahead import Ahead
from tidegate.pull_requests.rules.comment import render_comment


def test_it_says_behind_which_locks_the_merge_waits_and_what_ends_them():
    views = [planned(f"app{number:02}") for number in range(12)]
    locks = {each.layer.root.name: any_lock(reason="1234567 is deployed by hand.", pull_request=3) for each in views}
    text = render_comment(comment_of(*views, ahead=Ahead(5, locks)))
    assert "The queue of `app09` is locked by `maintainer`" in text
    assert "comment `tidegate unlock -p app09`" in text
    assert "2 more queues are locked: the merge waits until they are unlocked." in text
    assert "* Note the lock: the merge does not deploy locked roots until somebody unlocks them." in text
    text = render_comment(comment_of(planned("db"), ahead=Ahead(5, locks)))
    assert ("locked" in text, "Note the lock: the merge does" in text) == (False, False)


def test_it_speaks_of_its_own_lock_as_such():
    locks = {"app": any_lock(reason="1234567 is deployed by hand.", pull_request=5)}
    text = render_comment(comment_of(planned("app"), ahead=Ahead(5, locks)))
    assert (
        "The queue of `app` is locked by `maintainer`: 1234567 is deployed by hand\\. Comment "
        "`tidegate unlock -p app` to unlock it."
    ) in text


def test_a_lock_on_what_the_merge_does_not_deploy_is_nothing_to_mind():
    locks = {"app": any_lock(pull_request=3)}
    text = render_comment(comment_of(planned("db"), planned("app", is_extra=True), ahead=Ahead(5, locks)))
    assert ("locked" in text, "Note the lock: the merge does" in text) == (False, False)


def test_it_says_which_plans_others_that_are_deployed_may_change():
    busy = {"app": "https://tidegate.example/queue?root=app", "db": ""}
    views = [planned("app"), planned("db"), failed("gone")]
    text = render_comment(comment_of(*views, ahead=Ahead(5, busy={**busy, "gone": ""})))
    assert (
        "* As of this comment, [`app`](https://tidegate.example/queue?root=app) and `db` are being deployed or "
        "queued: their plans may change after that."
    ) in text
    text = render_comment(comment_of(planned("db"), ahead=Ahead(5, busy=busy)))
    assert "`db` is being deployed or queued: its plan may change after that." in text

"""What is said of a queue's lock: the same wherever it is said."""

from __future__ import annotations

from tests.builders import any_lock
from tidegate.deploys.texts.lock_text import apply_refusal, locked_by, locked_until
from tidegate.texts.markdown import code, escaped


def test_a_lock_names_who_put_it_there_and_why():
    assert locked_by("app", any_lock()) == "The queue of app is locked by maintainer: Somebody looks."


def test_what_ends_a_lock_is_said_as_its_reader_needs_it():
    assert locked_until("app", any_lock(), "atlantis", name=code, prose=escaped) == (
        "The queue of `app` is locked by `maintainer`: Somebody looks\\. Wait for that, or comment `atlantis "
        "unlock -p app` if that change may be undone."
    )
    assert apply_refusal("app", 5, any_lock()) == locked_until("app", any_lock())
    assert apply_refusal("app", 5, any_lock(pull_request=5)) == ""

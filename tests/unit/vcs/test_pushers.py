"""Who pushed what a pull request holds, as far as pushes were told of."""

from __future__ import annotations

import itertools

from tests.builders import sha
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pushers import MAXIMUM_PUSHES, HeadPush, and_pushes, pushers

A, B, C = sha(1), sha(2), sha(3)
OPENED, SECOND, THIRD = HeadPush("", A, "ann"), HeadPush(A, B, "ben"), HeadPush(B, C, "ann")


def test_all_who_pushed_are_known_once_all_is_told_in_whichever_order():
    for told in itertools.permutations((OPENED, SECOND, THIRD)):
        found = pushers(and_pushes((), told), C)
        assert (set(found.logins), found.known) == ({"ann", "ben"}, True)


def test_who_pushed_is_not_known_where_nobody_told_of_the_opening_a_push_or_the_head():
    assert pushers((), A) == Authors(known=False)
    assert pushers((SECOND, THIRD), C) == Authors(("ben", "ann"), known=False)
    assert pushers((OPENED, THIRD), C) == Authors(("ann",), known=False)
    assert pushers((OPENED, SECOND), C) == Authors(("ann", "ben"), known=False)


def test_a_head_that_comes_back_by_a_forced_push_is_known():
    back = (OPENED, SECOND, HeadPush(B, A, "eve"))
    assert pushers(back, A) == Authors(("ann", "ben", "eve"))


def test_a_push_that_is_told_of_again_changes_nothing_and_of_very_many_the_first_are_kept():
    assert and_pushes((OPENED, SECOND), (SECOND,)) == (OPENED, SECOND)
    many = [HeadPush(sha(number), sha(number + 1), "ann") for number in range(1, MAXIMUM_PUSHES + 5)]
    assert and_pushes((OPENED,), many) == (OPENED, *many[: MAXIMUM_PUSHES - 1])

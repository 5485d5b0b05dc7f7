"""The rules of a config repository: each is broken in a recorded history, and found."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

import soak.update_rules
from soak.cases import cases
from soak.update_rules import (
    AT_ANY_TIME,
    AT_THE_END,
    AUTO,
    ID,
    MAIN,
    REASON,
    SEQUENCE,
    Accepted,
    BranchHead,
    ConfigCommit,
    ConfigHistory,
    Held,
    Reported,
    broken_updates,
    check_updates,
)

ENTRY = {number: f"{number}" * 26 for number in range(1, 6)}


def committed(number, parent, staging, production="p0", reason="new images published", **trailers):
    """A commit of Tidegate's."""
    said = {ID: ENTRY[number], "Autocommit-App-SHA": f"{number}" * 40, SEQUENCE: f"{number}"}
    said |= {"Autocommit-Set": "shop", "Autocommit-Target": "staging", REASON: reason} | trailers
    lines = "\n".join(f"{name}: {value}" for name, value in said.items() if value)
    files = {"staging": staging, "production": production}
    return ConfigCommit(f"c{number}", parent, True, f"chore: update app\n\n{lines}\n", files, True)


def by_hand(sha, parent, staging="s0", production="p0"):
    return ConfigCommit(sha, parent, False, "Change", {"staging": staging, "production": production}, True)


def history(*commits, **fields):
    """Images 1 land in staging and are promoted as entry 2; entry 3 is evicted."""
    made = commits or (by_hand("h0", ""), committed(1, "h0", "s1"), committed(2, "c1", "s1", "s1", "promotion"))
    good = ConfigHistory(
        "acme/config",
        ("staging", "production"),
        {each.sha: each for each in (*made, committed(3, made[-1].sha, "s3"))},
        (
            *(BranchHead(10.0 * at, MAIN, each.sha) for at, each in enumerate(made)),
            BranchHead(99.0, AUTO, "c3"),
        ),
        tuple(Reported(10.0 * at - 1, each.sha, "success") for at, each in enumerate(made) if each.ours),
        (
            Accepted(1.0, ENTRY[1], guilty=False, state="landed"),
            Accepted(2.0, ENTRY[3], guilty=True, state="evicted"),
        ),
    )
    return replace(good, **fields)


def with_second(**trailers):
    """What landed second is another announcement."""
    second = committed(4, "c1", "s4", **trailers)
    return history(by_hand("h0", ""), committed(1, "h0", "s1"), second)


GOOD = history()
BACK = (BranchHead(0.0, MAIN, "h0"), BranchHead(10.0, MAIN, "c1"), BranchHead(20.0, MAIN, "h0"))
BESIDE = Reported(9.0, "c1", "success", "other-app")
#: Rule → histories that break it.
BROKEN = {
    "moves_forward": [replace(GOOD, heads=BACK)],
    "lands_what_passed": [
        replace(GOOD, reports=()),
        replace(GOOD, reports=(BESIDE, GOOD.reports[1])),
        replace(GOOD, reports=(replace(GOOD.reports[0], at=11.0), GOOD.reports[1])),
        replace(GOOD, reports=(replace(GOOD.reports[0], conclusion="cancelled"), GOOD.reports[1])),
        # Only the newest head was seen.
        replace(GOOD, heads=(GOOD.heads[0], GOOD.heads[2]), reports=()),
    ],
    "trailers_are_valid": [
        with_second(**{ID: ENTRY[1]}),
        with_second(**{ID: ""}),
        with_second(**{"Autocommit-Title": "[skip ci]"}),
        with_second(**{"Autocommit-App-SHA": "main"}),
    ],
    "is_generated": [
        replace(GOOD, commits={**GOOD.commits, "c3": replace(GOOD.commits["c3"], fresh=False)}),
    ],
    "promotes_in_order": [history(by_hand("h0", ""), committed(1, "h0", "s1", "s1"))],
    "never_goes_back": [with_second(**{SEQUENCE: "0"})],
    "holds_hold": [replace(GOOD, held=(Held(0.5, 50.0),))],
    "nothing_is_lost": [
        replace(GOOD, accepted=(replace(GOOD.accepted[0], state="testing"),)),
        replace(GOOD, accepted=(replace(GOOD.accepted[1], state="landed"),)),
        replace(GOOD, accepted=(replace(GOOD.accepted[0], state="superseded"),)),
    ],
    "innocents_stay": [replace(GOOD, accepted=(replace(GOOD.accepted[1], guilty=False),))],
}
RULES = {rule.__name__: rule for rule in (*AT_ANY_TIME, *AT_THE_END)}


def test_a_history_that_keeps_the_rules_has_no_violation():
    assert check_updates(GOOD) == broken_updates(GOOD) == []


def test_each_rule_has_a_history_that_breaks_it():
    assert BROKEN.keys() == RULES.keys()


@pytest.mark.parametrize(("rule", "number"), [(rule, at) for rule, each in BROKEN.items() for at in range(len(each))])
def test_a_broken_rule_is_found(rule, number):
    assert list(RULES[rule](BROKEN[rule][number]))


def test_what_people_push_needs_no_report_and_no_trailers():
    told = replace(history(by_hand("h0", ""), by_hand("h1", "h0")), accepted=())
    assert check_updates(told) == []


def test_a_failed_commit_below_one_that_passed_may_land():
    red = Reported(8.0, "c1", "failure")
    heads = (GOOD.heads[0], GOOD.heads[2])
    assert check_updates(replace(GOOD, heads=heads, reports=(red, GOOD.reports[1]))) == []


def test_an_older_announcement_may_land_after_somebody_went_back():
    line = (by_hand("h0", ""), committed(4, "h0", "s4"), by_hand("h1", "c4", "s0"), committed(1, "h1", "s1"))
    assert check_updates(history(*line, accepted=())) == []


def test_what_a_person_dismissed_may_be_innocent():
    dismissed = replace(BROKEN["innocents_stay"][0], dismissed=(ENTRY[3],))
    assert check_updates(dismissed) == []


def test_cases_of_updates_are_counted():
    red = Reported(8.0, "c1", "failure")
    told = replace(GOOD, reports=(red, *GOOD.reports, Reported(9.0, "c3", "cancelled")), held=(Held(0.0, 3.0),))
    counted = {case.what: case.count for case in cases([], updates=replace(told, by_hand=2)) if case.rule == "updates"}
    assert counted == {
        "an announced image set landed": 1,
        "a promotion landed": 1,
        "an entry was evicted": 1,
        "an entry was made anew": 0,
        "a failed entry landed below one that passed": 1,
        "a check was cancelled": 1,
        "a person pushed to the default branch": 2,
        "images were announced while their set was held": 2,
    }


def test_an_entry_with_two_commits_was_made_anew():
    again = replace(GOOD.commits["c3"], sha="c5")
    told = replace(GOOD, commits={**GOOD.commits, "c5": again}, heads=(*GOOD.heads, BranchHead(100.0, AUTO, "c5")))
    assert soak.update_rules.made_anew(told) == 1


def test_a_history_can_be_looked_at_again():
    assert json.loads(GOOD.to_json())["repository"] == "acme/config"


def test_the_rules_import_nothing_of_the_product():
    tree = ast.parse(Path(soak.update_rules.__file__).read_text(encoding="utf-8"))
    imported = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    assert not {name for name in imported if name.startswith(("tidegate", "runner"))}

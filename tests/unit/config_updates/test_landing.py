"""What the worker does with the auto branch: what lands, what is evicted, and what waits."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.config_updates.rules.landing import MOST_PUSHED, Landing, Move, Stacked, decide_landing
from tidegate.config_updates.rules.verdicts import Verdict

#: ``-`` was pushed below another one, and no check has reported about it.
_LETTERS = {"p": Verdict.PASS, "f": Verdict.FAIL, ".": Verdict.NONE, "r": Verdict.RETRY, "-": Verdict.NONE}


def _decided(letters: str, *, land_over_red: bool = True) -> Landing:
    """Decide about entries 0, 1, 2, … from the lowest, one letter for the verdict of each."""
    entries = [Stacked(str(at), _LETTERS[letter], pushed=letter != "-") for at, letter in enumerate(letters)]
    return decide_landing(entries, land_over_red=land_over_red)


def _moved(letters: str, *, land_over_red: bool = True) -> tuple[str, str]:
    decided = _decided(letters, land_over_red=land_over_red)
    return decided.move.value, decided.entry


def test_the_highest_entry_that_passed_lands_with_what_is_below_it():
    assert _moved("p") == ("land", "0")
    assert _moved(".p.") == ("land", "1")
    assert _moved("..p") == ("land", "2")
    assert _moved("pp.") == ("land", "1")


def test_the_only_entry_is_evicted_when_it_fails():
    assert _moved("f") == ("evict", "0")
    assert _moved("f..") == ("evict", "0")


def test_a_failure_above_an_open_entry_waits_for_it():
    assert _moved(".f") == ("wait", "")
    assert _moved("rf") == ("wait", "")


def test_when_the_entry_below_turns_out_to_be_the_cause_it_is_the_one_that_is_evicted():
    assert _moved("ff") == ("evict", "0")


def test_what_was_pushed_below_a_failed_entry_is_tested_by_itself():
    assert _decided("--f").untested == ("0", "1")
    assert _decided(".-f").untested == ("1",)
    assert _decided("-f-f").untested == ("0",)


def test_what_ci_has_not_failed_above_waits_with_it():
    assert _moved("--.") == ("wait", "")
    assert _moved("f--f") == ("evict", "0")
    assert _moved("-p-f") == ("land", "1")


@given(st.integers(min_value=1, max_value=300))
def test_a_few_pushes_leave_few_entries_that_may_be_guilty(count):
    untested = [int(each) for each in _decided("-" * count + "f").untested]
    assert untested == sorted(set(untested))
    assert len(untested) == min(count, MOST_PUSHED)
    gaps = [high - low for low, high in zip([-1, *untested], [*untested, count], strict=True)]
    assert max(gaps) <= count // MOST_PUSHED + 1


def test_a_failed_entry_lands_below_one_that_passed():
    assert _moved("fp") == ("land", "1")


def test_a_strict_repository_lands_nothing_over_a_failed_entry():
    assert _moved("fp", land_over_red=False) == ("evict", "0")
    assert _moved("pfp", land_over_red=False) == ("land", "0")
    assert _moved(".fp", land_over_red=False) == ("wait", "")


def test_an_empty_branch_waits():
    assert _moved("") == ("wait", "")


@given(st.text(alphabet="pf.r-", max_size=12), st.booleans())
def test_whatever_the_verdicts_nothing_lands_untested_and_nobody_innocent_is_evicted(letters, strict):
    decided = _decided(letters, land_over_red=not strict)
    if decided.move is Move.LAND:
        at = int(decided.entry)
        assert letters[at] == "p"
        assert "p" not in (letters[at + 1 :] if not strict else letters[at + 1 :].partition("f")[0])
        assert not strict or "f" not in letters[:at]
    if decided.move is Move.EVICT:
        assert letters[int(decided.entry)] == "f"
        assert letters[: int(decided.entry)] == ""


@given(st.text(alphabet="pf", min_size=1, max_size=12), st.booleans())
def test_with_all_verdicts_known_there_is_always_something_to_do(letters, strict):
    assert _decided(letters, land_over_red=not strict).move is not Move.WAIT

"""Who may only read is answered a few times an hour: everybody may comment on a public repository."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.comments.events_scenario import NUMBER, EventsScenario
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.rules.permission import Permission

OTHER = NUMBER + 1
FIRST, LAST, NEXT = (utc(f"2026-03-02T{time}") for time in ("08:00:00", "08:59:59", "09:00:00"))
REFUSED = (
    "tidegate deploy",
    "tidegate lock -p live/app",
    "tidegate unlock -p live/app",
    "tidegate nonsense",
    "tidegate help",
)
ACCESS = """
access_control:
  policies: [{tag_query: '', apply: ['user:friend'], unlock: ['user:friend']}]
"""


@pytest.fixture
def scenario():
    scenario = EventsScenario()
    scenario.forge.pull_requests[OTHER] = replace(scenario.forge.pull_requests[NUMBER], number=OTHER)
    scenario.forge.readers |= {"visitor", "second", "friend"}
    return scenario


def answers(scenario):
    return len(scenario.forge.comments), len(scenario.forge.reactions)


@pytest.mark.parametrize("command", REFUSED)
def test_an_outsider_is_answered_five_times_in_an_hour_and_then_not_even_by_a_reaction(scenario, command):
    for _ in range(5):
        scenario.comment(command, by="visitor", at=FIRST)
    answered = answers(scenario)
    assert answered[0] == 5
    for _ in range(20):
        outcome = scenario.comment(command, by="visitor", at=LAST)
        assert outcome.endswith(
            "Not answered: the limit of answers per hour for people without write access is reached."
        )
    assert answers(scenario) == answered
    scenario.comment(command, by="visitor", at=NEXT)
    assert len(scenario.forge.comments) == 6


def test_in_another_pull_request_of_the_repository_an_outsider_has_no_more_answers(scenario):
    for number in (NUMBER, OTHER) * 5:
        scenario.comment("tidegate deploy", by="Visitor" if number == OTHER else "visitor", number=number)
    assert answers(scenario) == (5, 5)


def test_all_outsiders_together_have_thirty_answers(scenario):
    scenario.forge.readers |= {f"visitor-{number}" for number in range(10)}
    for number in range(50):
        scenario.comment("tidegate deploy", by=f"visitor-{number % 10}")
    assert answers(scenario) == (30, 30)


def test_an_outsider_takes_no_answer_away_from_people_of_the_repository(scenario):
    scenario.forge.roles["helper"] = Permission.TRIAGE
    for by in ("visitor", "writer", "writer", "helper", "helper"):
        scenario.comment("tidegate nonsense", by=by)
    assert len(scenario.forge.comments) == 5


def test_who_may_only_read_and_is_granted_it_deploys_however_many_were_refused(scenario):
    scenario.file(scenario.forge.branches["main"], ACCESS)
    for _ in range(7):
        scenario.comment("tidegate deploy", by="visitor")
    scenario.comment("tidegate deploy", by="friend")
    assert scenario.names == ["live/app"]
    assert scenario.forge.reactions[-1][1] == "rocket"


def test_an_answer_that_was_put_off_is_still_given(scenario):
    scenario.forge.silence = ForgeUnavailable("secondary limit", 60)
    with pytest.raises(ForgeUnavailable):
        scenario.comment("tidegate deploy", by="visitor", delivery="again")
    scenario.forge.silence = None
    scenario.comment("tidegate deploy", by="visitor", delivery="again")
    assert "has no write permission" in scenario.reply


def test_who_the_forge_tells_nothing_of_is_an_outsider(scenario):
    for _ in range(7):
        scenario.forge.failures = [ForgeRefused(403, "Resource not accessible")]
        scenario.comment("tidegate nonsense", by="writer")
    assert len(scenario.forge.comments) == 5


def test_an_outsider_who_comments_all_the_time_is_not_looked_at_and_costs_one_call(scenario):
    for _ in range(10):
        scenario.comment("tidegate deploy", by="visitor", at=FIRST)
    pulls, asked = dict(scenario.forge.pull_requests), len(scenario.forge.people_asked)
    scenario.forge.pull_requests.clear()  # Nobody looks at them.
    assert "Ignored" in scenario.comment("tidegate deploy", by="visitor", at=FIRST)
    assert scenario.forge.people_asked[asked:] == ["visitor"]
    scenario.forge.pull_requests.update(pulls)
    assert "has no write permission" in scenario.comment("tidegate deploy", by="visitor", at=utc("2026-03-02T08:10"))


def test_people_of_the_repository_are_looked_at_however_often_they_comment(scenario):
    for _ in range(12):
        scenario.comment("tidegate nonsense", by="writer", at=FIRST)
    assert len(scenario.forge.comments) == 12


def test_who_the_forge_tells_nothing_of_is_not_looked_at_for_ever(scenario):
    for _ in range(10):
        scenario.comment("tidegate nonsense", by="writer", at=FIRST)
    scenario.forge.failures = [ForgeRefused(403, "Resource not accessible")]
    assert "Ignored" in scenario.comment("tidegate nonsense", by="writer", at=FIRST)
    assert len(scenario.forge.comments) == 10


def test_a_comment_that_was_put_off_has_its_turn_already(scenario):
    scenario.forge.silence = ForgeUnavailable("secondary limit", 60)
    with pytest.raises(ForgeUnavailable):
        scenario.comment("tidegate deploy", by="visitor", at=FIRST, delivery="again")
    scenario.forge.silence = None
    told = [scenario.comment("tidegate deploy", by="visitor", at=FIRST) for _ in range(10)]
    assert ["Ignored" in each for each in told] == [False] * 9 + [True]
    assert "has no write permission" in scenario.comment("tidegate deploy", by="visitor", at=FIRST, delivery="again")

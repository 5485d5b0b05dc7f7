"""Tags of branches, branches that changes may go to, and when roots are looked at for drift."""

from __future__ import annotations

import time
from zoneinfo import ZoneInfoNotFoundError

import pytest

from tests.configuration import load, refusal
from tidegate.config.branches import may_go
from tidegate.config.declarations import DestinationBranch, Drift, PullRequestRules
from tidegate.config.expressions import Expression
from tidegate.config.model import branches as model_branches
from tidegate.config.rules.timetable import Interval, Window
from tidegate.deploys.rules.speculative_plan import Checkout


def test_branches_have_tags_by_regular_expressions_in_the_order_of_the_file():
    loaded = load("tags: {branch: {hot: '^hotfix/'}, dest_branch: {main: '^main$'}}\n")
    assert [(name, pattern.search("hotfix/1")) for name, pattern in loaded.branch_tags] == [("hot", True)]
    assert [(name, pattern.search("maintenance")) for name, pattern in loaded.dest_branch_tags] == [("main", False)]
    assert load("tags:\n").branch_tags == ()


def test_a_pattern_of_a_branch_takes_no_longer_than_the_name():
    started = time.process_time()
    assert not Expression("^(a+)+$").search("a" * 1000 + "b")
    assert time.process_time() - started < 5
    assert Expression("a") == Expression("a") != Expression("b")
    assert len({Expression("a"), Expression("a")}) == 1
    assert repr(Expression("^a")) == "Expression('^a')"


@pytest.mark.parametrize(
    ("tags", "column", "words"),
    [
        ("{branch: {a: '('}}", 20, ["'(' is not a regular expression"]),
        ("{branch: {a: 'feature%-'}}", 20, ["has a '%'", "backslash"]),
        ("{branch: {a: 'x{1000}'}}", 20, ["has a '{'", "Write it without counted repetition: use"]),
        ("{branch: {a: }}", 20, ["expected a branch pattern"]),
        ("{branch: {'dir:x': a}}", 17, ["uses a prefix that Tidegate reserves"]),
        ("{branches: {}}", 8, ["Did you mean 'branch'?"]),
    ],
)
def test_what_tags_of_branches_cannot_be_is_told_with_its_place(tags, column, words):
    error = refusal(f"tags: {tags}\n")
    assert (error.line, error.column) == (1, column)
    for word in words:
        assert word in str(error)


def test_destinations_are_names_or_say_where_changes_may_come_from():
    text = """
destination_branches:
  - main
  - {branch: release/*, source_branches: [main]}
  - {branch: dev, source_branches: ['!bot/*']}
"""
    assert load(text).destination_branches == (
        DestinationBranch("main", ("*",), 3),
        DestinationBranch("release/*", ("main",), 4),
        DestinationBranch("dev", ("*", "!bot/*"), 5),
    )
    assert "Write [main]" in str(refusal("destination_branches: main\n"))
    assert "missing key 'branch'" in str(refusal("destination_branches: [{source_branches: []}]\n"))


def test_schedules_of_drift_are_taken_with_their_hours():
    loaded = load("""
drift:
  schedules:
    nightly: {tag_query: prod, schedule: daily, window: {start: '22:00 Europe/Berlin', end: '04:00'}}
    often: {tag_query: '', schedule: hourly, reconcile: true}
""")
    assert loaded.drift.enabled
    nightly, often = loaded.drift.schedules
    assert (nightly.name, nightly.interval, nightly.line) == ("nightly", Interval.DAILY, 4)
    assert nightly.window == Window("22:00", "04:00", "Europe/Berlin")
    assert (often.reconcile, often.window) == (True, None)
    assert load("version: 1\n").drift == Drift()
    assert not load("drift: {enabled: false}\n").drift.enabled


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("{tag_query: ''}", ["missing key 'schedule'"]),
        ("{tag_query: '', schedule: often}", ["'hourly', 'daily', 'weekly' or 'monthly'"]),
        ("{tag_query: '', schedule: daily, window: {start: '25:00', end: '01:00'}}", ["'25:00' is not a time"]),
        ("{tag_query: '', schedule: daily, window: {start: '01:00', end: '01:00'}}", ["the window starts and ends at"]),
        ("{tag_query: '', schedule: daily, window: {start: '1:00 UTC', end: '2:00'}}", ["is not a time of day"]),
        (
            "{tag_query: '', schedule: daily, window: {start: '01:00 UTC', end: '02:00 CET'}}",
            ["Use one time zone for both"],
        ),
        (
            "{tag_query: '', schedule: daily, window: {start: '01:00 Mars/Base', end: '02:00'}}",
            ["unknown time zone 'Mars/Base'", "Europe/Berlin"],
        ),
        ("{tag_query: '', schedule: daily, window: {start: '01:00', end: '02:00 /etc/passwd'}}", ["unknown time zone"]),
    ],
)
def test_what_schedules_cannot_be_is_told(schedule, words):
    error = refusal(f"drift: {{schedules: {{s: {schedule}}}}}\n")
    for word in words:
        assert word in str(error)


def test_where_nothing_is_known_of_time_zones_the_cloud_tells(monkeypatch):
    def unknown(name):
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr(model_branches, "ZoneInfo", unknown)
    assert load("drift: {schedules: {s: {tag_query: '', schedule: daily, window: {start: '01:30', end: '02:00'}}}}\n")
    window = "{start: '01:00 Europe/Berlin', end: '02:00'}"
    (schedule,) = load(
        f"drift: {{schedules: {{s: {{tag_query: '', schedule: daily, window: {window}}}}}}}\n"
    ).drift.schedules
    assert schedule.window == Window("01:00", "02:00", "Europe/Berlin")


DESTINATIONS = (
    DestinationBranch("main"),
    DestinationBranch("Release/*", ("main", "hotfix/*")),
    DestinationBranch("dev", ("*", "!bot/*")),
)


@pytest.mark.parametrize(
    ("source", "destination", "may"),
    [
        ("feature", "main", True),
        ("feature", "MAIN", True),
        ("feature", "maintenance", False),
        ("main", "release/1.0/x", True),
        ("HotFix/1", "release/1", True),
        ("feature", "release/1", False),
        ("feature", "dev", True),
        ("bot/update", "dev", False),
        ("feature", "other", False),
    ],
)
def test_changes_go_where_the_file_lets_them_come_from(source, destination, may):
    assert may_go(DESTINATIONS, source, destination) is may


def test_pull_requests_are_planned_as_the_file_says():
    assert load("version: 1\n").pull_requests == load("pull_requests:\n").pull_requests == PullRequestRules()
    text = """
pull_requests:
  drafts: false
  checkout: branch
  allowed_providers: [hashicorp/*, integrations/github]
  allowed_modules: []
  allowed_plan_args: ['-var=region=*']
  replan_on_base_change: true
"""
    allowed = ("hashicorp/*", "integrations/github")
    expected = PullRequestRules(False, Checkout.BRANCH, allowed, (), ("-var=region=*",), True)
    assert load(text).pull_requests == expected


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("{draft: true}", "Did you mean 'drafts'?"),
        ("{drafts: maybe}", "Write true or false"),
        ("{checkout: rebase}", "merge"),
        ("{allowed_providers: hashicorp/*}", "[hashicorp/*]"),
        ("{allowed_plan_args: ['-*']}", "Write options such as -var=region=*"),
        ("{allowed_plan_args: [target]}", "is not a plan option"),
        ("{replan_on_base_change: perhaps}", "Write true or false"),
    ],
)
def test_what_pull_requests_cannot_say_is_told(section, words):
    assert words in str(refusal(f"pull_requests: {section}\n"))


def test_patterns_of_what_is_masked_reach_every_job():
    loaded = load("mask_patterns: ['ghp_[A-Za-z0-9]{36}']\n")
    assert loaded.masks == ("ghp_[A-Za-z0-9]{36}",)


def test_a_pattern_that_could_take_long_is_refused_with_its_line():
    told = str(refusal("mask_patterns:\n  - ghp_x\n  - (a+)+$\n"))
    assert ":3:5:" in told
    assert "is only allowed at the end" in told

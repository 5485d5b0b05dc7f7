"""When all targets of an environment run an image set."""

from datetime import UTC, datetime, timedelta

from tidegate.config_updates.rules.fan_in import Progress, Rollout, TargetReport, rollout_of

SINCE = datetime(2026, 3, 2, 8, tzinfo=UTC)
TARGETS = ("us", "eu", "ap")


def _report(target: str, identity: str = "new", *, succeeded: bool = True, minute: int = 1) -> TargetReport:
    return TargetReport(target, identity, "a" * 40, succeeded, SINCE + timedelta(minutes=minute))


def _progress(*reports: TargetReport, minutes: int = 10) -> Progress:
    return rollout_of("new", TARGETS, reports, SINCE, SINCE + timedelta(minutes=minutes), timedelta(hours=1))


def test_two_of_three_targets_are_not_enough():
    found = _progress(_report("us"), _report("eu"))
    assert (found.rollout, found.open) == (Rollout.WAITING, ("ap",))


def test_it_is_complete_once_all_have_reported_whatever_the_commit():
    assert _progress(*[_report(name) for name in TARGETS]).rollout is Rollout.COMPLETE


def test_a_report_of_another_image_set_does_not_count():
    assert _progress(_report("us"), _report("eu"), _report("ap", "newer")).rollout is Rollout.WAITING


def test_a_target_that_moved_on_to_another_image_set_runs_this_one_no_more():
    found = _progress(*[_report(name) for name in TARGETS], _report("ap", "newer", minute=2))
    assert found.rollout is Rollout.WAITING


def test_a_failed_target_blocks_until_it_succeeds():
    failed = _report("ap", succeeded=False)
    assert _progress(_report("us"), _report("eu"), failed).rollout is Rollout.FAILED
    assert _progress(_report("us"), _report("eu"), failed, _report("ap", minute=2)).rollout is Rollout.COMPLETE


def test_a_target_that_never_reports_stalls_the_environment():
    found = _progress(_report("us"), _report("eu"), minutes=61)
    assert (found.rollout, found.open) == (Rollout.STALLED, ("ap",))

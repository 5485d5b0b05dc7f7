"""Which tests hold each of the 58 edge cases of config updates, and each fault: every one has a test."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_TESTS = Path(__file__).parents[2]
_UNIT = "unit/config_updates"
_QUEUE, _PROMOTIONS = f"{_UNIT}/test_queue.py", f"{_UNIT}/test_promotions.py"
_ANNOUNCE, _VERDICTS, _REPLAY = (
    f"{_UNIT}/test_announce.py",
    f"{_UNIT}/test_verdicts.py",
    "runner/config_updates/test_replay.py",
)
_E2E = "e2e/test_config_updates.py"
_EVICTED = f"{_E2E}::test_a_failed_image_set_is_evicted_and_the_innocent_one_behind_it_lands"
_BY_HAND = f"{_E2E}::test_a_person_moves_the_default_branch_and_changes_images_by_hand"
_BRANCH = f"{_E2E}::test_the_auto_branch_is_deleted_while_commits_are_made_and_rewritten_by_a_stranger"
_LOST = f"{_E2E}::test_a_green_commit_lands_although_its_webhook_is_lost_and_the_branch_was_locked"
_CASES: dict[int, tuple[str, ...]] = {
    1: (
        f"{_QUEUE}::test_the_first_entry_makes_the_auto_branch_with_one_commit",
        f"{_QUEUE}::test_one_execution_is_started_however_often_somebody_wakes_it",
    ),
    2: (f"{_REPLAY}::test_an_announcement_becomes_one_commit_with_its_trailers_and_its_date",),
    3: (
        f"{_ANNOUNCE}::test_case_3_an_identical_announcement_is_one_entry_however_often_and_concurrently_it_comes",
        f"{_ANNOUNCE}::test_case_3_who_loses_a_race_against_the_same_announcement_is_told_that_it_is_a_repetition",
    ),
    4: (f"{_ANNOUNCE}::test_case_4_other_images_of_the_same_commit_are_refused_and_nothing_is_written",),
    5: (f"{_ANNOUNCE}::test_case_5_an_older_build_that_finishes_after_a_newer_one_is_superseded",),
    6: (f"{_ANNOUNCE}::test_case_6_an_evicted_commit_enters_again_only_by_a_retry",),
    7: (f"{_QUEUE}::test_case_7_an_entry_that_changes_nothing_leaves_the_queue_without_a_commit",),
    8: (f"{_REPLAY}::test_files_that_the_generator_creates_and_deletes_are_in_the_commit", _BRANCH),
    9: (
        f"{_QUEUE}::test_case_9_a_failed_command_ends_its_entry_and_the_next_one_is_made",
        f"{_REPLAY}::test_a_command_that_fails_costs_its_own_entry_only",
    ),
    10: (
        "api/test_config_updates.py::test_case_10_what_is_not_described_is_refused_and_nothing_is_written",
        f"{_ANNOUNCE}::test_case_10_what_names_no_images_of_this_commit_is_refused_and_nothing_is_written",
        f"{_UNIT}/test_trailers.py::test_no_value_adds_a_line_or_a_word_to_a_message",
    ),
    11: (
        "api/test_config_updates.py::test_case_11_a_run_that_may_not_announce_this_is_refused",
        "api/test_config_updates.py::test_case_11_a_forged_token_and_one_of_a_person_announce_nothing",
        "adapters/test_ci_tokens.py::test_case_11_what_its_key_has_not_signed_is_refused",
    ),
    12: ("unit/vcs/test_webhook.py::test_a_missing_sha1_altered_or_foreign_signature_is_refused",),
    13: (f"{_QUEUE}::test_case_13_a_passed_tip_becomes_the_default_branch",),
    14: (f"{_QUEUE}::test_case_14_a_passed_commit_in_the_middle_lands_and_the_tip_stays",),
    15: (f"{_QUEUE}::test_case_15_a_passed_tip_lands_what_is_below_it",),
    16: (f"{_QUEUE}::test_case_16_the_only_entry_is_evicted_when_it_fails",),
    17: (f"{_QUEUE}::test_cases_17_and_18_the_innocent_one_above_a_failed_entry_lands", _EVICTED),
    18: (f"{_QUEUE}::test_cases_17_and_18_the_innocent_one_above_a_failed_entry_lands", _EVICTED),
    19: (f"{_QUEUE}::test_case_19_a_failed_entry_below_a_passed_one_lands_with_a_mark",),
    20: (
        f"{_VERDICTS}::test_all_required_checks_must_pass",
        f"{_QUEUE}::test_case_20_an_entry_whose_check_never_starts_is_evicted",
    ),
    21: (f"{_VERDICTS}::test_a_status_and_a_check_run_of_one_name_must_both_pass",),
    22: (
        f"{_VERDICTS}::test_a_check_of_another_app_never_counts_and_is_told",
        f"{_QUEUE}::test_case_22_a_check_of_another_app_does_not_count",
    ),
    23: (f"{_QUEUE}::test_case_23_a_check_that_a_newer_push_cancelled_evicts_nothing",),
    24: (f"{_QUEUE}::test_case_24_a_check_without_a_result_is_requested_again_once",),
    25: (f"{_VERDICTS}::test_each_result_has_one_verdict",),
    26: (f"{_QUEUE}::test_cases_26_to_28_what_ci_says_of_commits_that_are_off_the_auto_branch_moves_nothing",),
    27: (f"{_QUEUE}::test_cases_26_to_28_what_ci_says_of_commits_that_are_off_the_auto_branch_moves_nothing",),
    28: (f"{_QUEUE}::test_cases_26_to_28_what_ci_says_of_commits_that_are_off_the_auto_branch_moves_nothing",),
    29: ("unit/vcs/test_webhook_events.py::test_case_29_a_status_counts_whatever_branches_its_webhook_lists",),
    30: (f"{_QUEUE}::test_case_30_a_commit_by_a_person_on_the_default_branch_makes_all_entries_anew", _BY_HAND),
    31: (f"{_REPLAY}::test_a_template_that_a_person_changes_shows_in_what_is_replayed", _BY_HAND),
    32: (
        f"{_QUEUE}::test_case_32_images_that_a_person_landed_by_hand_do_not_hold_the_set",
        f"{_REPLAY}::test_images_that_a_person_landed_by_hand_make_no_empty_commit",
    ),
    33: (f"{_QUEUE}::test_case_33_an_image_set_that_a_person_changes_holds_its_set", _BY_HAND),
    34: (
        f"{_QUEUE}::test_case_34_a_default_branch_that_moves_meanwhile_is_followed",
        f"{_QUEUE}::test_a_lease_that_is_lost_at_the_push_is_planned_anew",
        _BRANCH,
    ),
    35: (
        f"{_QUEUE}::test_case_35_a_default_branch_that_always_moves_is_told_and_what_passes_lands_at_last",
        "functions/test_config_update_metrics.py::test_case_35_a_starving_queue_is_counted",
    ),
    36: (f"{_QUEUE}::test_case_36_a_branch_that_somebody_else_has_moved_is_left_alone_and_reported", _BRANCH),
    37: (f"{_QUEUE}::test_case_37_a_deleted_auto_branch_is_made_anew_from_the_entries", _BRANCH),
    38: (
        f"{_QUEUE}::test_case_38_a_crash_after_the_push_is_repaired_by_the_repeated_step",
        f"{_QUEUE}::test_case_38_a_worker_that_died_after_the_push_is_continued_by_the_next_one",
        f"{_QUEUE}::test_case_38_a_worker_that_died_before_the_push_leaves_nothing",
    ),
    39: (f"{_QUEUE}::test_case_39_a_verdict_whose_webhook_was_lost_is_seen_by_the_reconciler", _LOST),
    40: (f"{_VERDICTS}::test_the_newest_report_counts_in_whatever_order_reports_arrive",),
    41: (f"{_QUEUE}::test_case_41_a_refused_move_is_tried_again_after_some_seconds", _LOST),
    42: (
        f"{_QUEUE}::test_case_42_a_revoked_token_lets_entries_wait_and_is_told",
        "functions/test_config_update_metrics.py::test_case_42_a_blocked_queue_is_counted",
    ),
    43: (f"{_PROMOTIONS}::test_43_two_of_three_targets_are_not_enough",),
    44: (f"{_PROMOTIONS}::test_44_the_third_target_at_a_later_commit_with_the_same_image_set_promotes",),
    45: (f"{_PROMOTIONS}::test_45_a_target_with_a_newer_image_set_waits_for_it_on_all",),
    46: (f"{_PROMOTIONS}::test_46_two_last_targets_that_report_at_once_promote_once",),
    47: (f"{_PROMOTIONS}::test_47_a_late_report_of_an_older_image_set_brings_nothing_back",),
    48: (f"{_PROMOTIONS}::test_48_a_target_that_failed_blocks_until_it_succeeds",),
    49: (f"{_PROMOTIONS}::test_49_a_sync_of_a_commit_with_the_same_images_promotes_nothing",),
    50: (
        f"{_PROMOTIONS}::test_50_a_target_that_never_reports_stalls_its_environment_and_a_late_report_completes_it",
        "unit/reconciler/test_follow_promotions.py::test_50_a_target_that_runs_no_hook_is_asked",
    ),
    51: (f"{_PROMOTIONS}::test_51_a_promotion_that_waits_copies_its_own_image_set_while_newer_ones_arrive",),
    52: (f"{_PROMOTIONS}::test_52_an_evicted_promotion_changes_nothing_and_may_be_retried",),
    53: (
        f"{_PROMOTIONS}::test_53_an_image_set_keeps_the_chain_that_it_started_with",
        f"{_PROMOTIONS}::test_53_an_environment_that_is_gone_has_no_promotion",
    ),
    54: (f"{_ANNOUNCE}::test_case_54_a_paused_queue_stores_announcements_and_continues_in_their_order",),
    55: (
        f"{_QUEUE}::test_case_55_many_waiting_entries_take_one_replay_and_one_push",
        f"{_REPLAY}::test_each_of_many_entries_takes_as_many_git_processes_as_any_other",
    ),
    56: (f"{_UNIT}/test_trailers.py::test_no_value_adds_a_line_or_a_word_to_a_message",),
    57: (f"{_PROMOTIONS}::test_57_two_image_sets_of_one_repository_do_not_wait_for_each_other",),
    58: (
        f"{_PROMOTIONS}::test_58_reports_are_ordered_by_their_commits_and_not_by_a_clock",
        f"{_VERDICTS}::test_case_58_a_provider_whose_clock_is_behind_lets_no_check_be_late",
    ),
}
_COMMANDS, _JOB = "runner/config_updates/test_commands.py", "runner/config_updates/test_replay_job.py"
_FAULTS: dict[str, tuple[str, ...]] = {
    "the lease is lost at the push": (f"{_QUEUE}::test_a_lease_that_is_lost_at_the_push_is_planned_anew", _BRANCH),
    "the default branch moves while commits are made": (
        f"{_QUEUE}::test_a_default_branch_that_moves_while_commits_are_made_is_followed",
    ),
    "the lease is lost at the landing": (f"{_QUEUE}::test_case_34_a_default_branch_that_moves_meanwhile_is_followed",),
    "protection refuses": (
        f"{_QUEUE}::test_case_41_a_refused_move_is_tried_again_after_some_seconds",
        f"{_QUEUE}::test_a_default_branch_that_always_refuses_is_asked_less_and_less",
        _LOST,
    ),
    "a command hangs": (f"{_COMMANDS}::test_a_command_that_hangs_is_killed_and_costs_its_own_entry_only",),
    "a command writes outside": (
        f"{_COMMANDS}::test_what_a_command_writes_outside_of_the_work_tree_does_not_reach_a_commit",
        f"{_JOB}::test_what_a_command_leaves_running_or_writes_outside_reaches_nothing",
    ),
    "a command prints secrets": (
        f"{_COMMANDS}::test_secrets_that_a_command_prints_are_masked_in_the_log_and_in_the_reason",
        f"{_JOB}::test_a_command_finds_no_token_and_no_credentials_wherever_it_looks",
    ),
    "a command leaves processes": (
        f"{_COMMANDS}::test_what_a_command_leaves_in_the_background_is_killed",
        f"{_COMMANDS}::test_a_process_that_goes_on_writing_does_not_change_the_next_entry",
    ),
    "two workers": (
        f"{_QUEUE}::test_another_execution_moves_nothing",
        f"{_QUEUE}::test_one_execution_is_started_however_often_somebody_wakes_it",
    ),
    "webhooks come twice or in another order": (
        f"{_UNIT}/test_receive_checks.py::test_the_worker_of_a_queue_is_woken_and_a_repeated_delivery_wakes_it_once",
        f"{_VERDICTS}::test_the_newest_report_counts_in_whatever_order_reports_arrive",
    ),
}


@cache
def _names(file: str) -> frozenset[str]:
    tree = ast.parse((_TESTS / file).read_text(encoding="utf-8"))
    return frozenset(each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))


def test_every_edge_case_and_every_fault_has_a_test() -> None:
    assert sorted(_CASES) == list(range(1, 59))
    for what, tests in (_CASES | _FAULTS).items():
        for file, _, name in (each.partition("::") for each in tests):
            assert name in _names(file), f"{what}: {file}::{name}"

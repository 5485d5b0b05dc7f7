"""Commits say who asked for what in trailers, which nobody can forge by a value."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config_updates.rules.trailers import InvalidTrailer, Trailers, commit_message

SHA = "7d1043473d55bfa90e8530d35801d4e381bc69f0"
IMAGES = Trailers("01J9Z3K4M5N6P7Q8R9S0T1V2W3", "app", "staging", "new images published", SHA, "42")
VALID = {"image_set": "app", "environment": "staging", "reason": "promotion", "app_sha": SHA, "actor": "octocat"}
PROMOTION = Trailers("01J9Z3K4M5N6P7Q8R9S0T1V2W4", "app", "production", "promotion", source_sha=SHA)


def test_a_promotion_names_the_commit_that_it_takes_and_who_asked():
    assert commit_message(replace(PROMOTION, actor="octocat")) == (
        "chore: promote app to production\n\n"
        "Autocommit-Id: 01J9Z3K4M5N6P7Q8R9S0T1V2W4\n"
        "Autocommit-Set: app\n"
        "Autocommit-Target: production\n"
        f"Autocommit-Source-Config-SHA: {SHA}\n"
        "Autocommit-Reason: promotion\n"
        "Autocommit-Actor: octocat\n"
    )
    assert commit_message(replace(PROMOTION, reason="rollback")).startswith("chore: roll back app production\n\n")


def test_a_message_has_the_subject_and_the_trailers_of_its_entry():
    message = commit_message(IMAGES)
    assert message.startswith("chore: update app to 7d10434")
    for line in (f"Autocommit-App-SHA: {SHA}", "Autocommit-Target: staging", "Autocommit-Reason: new images published"):
        assert f"\n{line}\n" in message


@pytest.mark.parametrize("fields", [{"image_set": ""}, {"actor": "a\nb"}, {"app_sha": "main"}, {"reason": "[skip ci]"}])
def test_a_value_of_another_form_is_refused_before_anything_is_committed(fields):
    with pytest.raises(InvalidTrailer):
        commit_message(replace(IMAGES, **fields))


@given(st.sampled_from(["image_set", "environment", "reason", "app_sha", "actor"]), st.text(min_size=1, max_size=30))
def test_no_value_adds_a_line_or_a_word_to_a_message(field, text):
    try:
        message = commit_message(replace(IMAGES, **{field: text}))
    except InvalidTrailer:
        return
    assert len(message.splitlines()) == len(commit_message(replace(IMAGES, **{field: VALID[field]})).splitlines())
    assert f": {text}\n" in message
    assert "[" not in message.replace("[bot]", "")

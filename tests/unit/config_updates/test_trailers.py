"""Commits say who asked for what in trailers, which nobody can forge by a value."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config_updates.rules.trailers import InvalidTrailer, Trailers, commit_message, read_trailers

SHA = "7d1043473d55bfa90e8530d35801d4e381bc69f0"
IMAGES = Trailers("01J9Z3K4M5N6P7Q8R9S0T1V2W3", "app", "staging", "new images published", SHA, "42")
PROMOTION = Trailers("01J9Z3K4M5N6P7Q8R9S0T1V2W4", "app", "production", "promotion", source_sha=SHA)


@pytest.mark.parametrize("trailers", [IMAGES, PROMOTION, replace(PROMOTION, reason="rollback", actor="octocat")])
def test_a_message_says_what_it_was_made_of(trailers):
    assert read_trailers(commit_message(trailers)) == trailers


def test_a_message_has_the_subject_and_the_trailers_of_the_seed():
    message = commit_message(IMAGES)
    assert message.startswith("chore: update app to 7d10434")
    for line in (f"Autocommit-App-SHA: {SHA}", "Autocommit-Target: staging", "Autocommit-Reason: new images published"):
        assert f"\n{line}\n" in message


@pytest.mark.parametrize("fields", [{"image_set": ""}, {"actor": "a\nb"}, {"app_sha": "main"}, {"reason": "[skip ci]"}])
def test_a_value_of_another_form_is_refused_before_anything_is_committed(fields):
    with pytest.raises(InvalidTrailer):
        commit_message(replace(IMAGES, **fields))


@given(st.sampled_from(["image_set", "environment", "reason", "app_sha", "actor"]), st.text(max_size=30))
def test_no_value_adds_a_line_or_a_word_to_a_message(field, text):
    try:
        message = commit_message(replace(IMAGES, **{field: text}))
    except InvalidTrailer:
        return
    assert read_trailers(message) == replace(IMAGES, **{field: text})
    assert "[" not in message.replace("[bot]", "")


@pytest.mark.parametrize(
    "message",
    [
        "feat: something\n\nAutocommit-Id: 01J9Z3K4M5N6P7Q8R9S0T1V2W3\n",
        "chore: update app to 7d10434\n",
        commit_message(IMAGES) + "\nSigned-off-by: somebody\n",
        commit_message(IMAGES).replace(
            "Autocommit-Target: staging", "Autocommit-Target: staging\nAutocommit-Target: x"
        ),
        "",
    ],
)
def test_what_others_wrote_is_none_of_ours(message):
    assert read_trailers(message) is None

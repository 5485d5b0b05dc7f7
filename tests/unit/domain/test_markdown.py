"""Text of Tidegate's own, without the marks of Markdown."""

from __future__ import annotations

from tidegate.domain.markdown import code, without_marks


def test_names_in_a_sentence_are_left_without_their_marks():
    assert without_marks(f"The root {code('network')} of {code('a`b')} waits.") == "The root network of ab waits."

"""Merge keys (``<<``) of other tools' files, which files of clusters may have."""

import pytest

from tidegate.config.refusals import InvalidConfiguration
from tidegate.documents.document import read_document


def read(text):
    return read_document("cluster.yaml", text.encode(), merging=True).content


def test_own_keys_win_over_merged_ones():
    assert read("base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3, c: 4}\n")["own"] == {"a": "1", "b": "3", "c": "4"}


def test_the_first_of_several_merged_mappings_wins():
    text = "first: &first {a: 1}\nsecond: &second {a: 2, b: 2}\nown: {<<: [*first, *second]}\n"
    assert read(text)["own"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("own: {<<: text}\n", "expected a mapping"),
        ("own: {<<: [text]}\n", "expected a mapping"),
        ("other: &other {[a]: 1}\nown: {<<: *other}\n", "plain string"),
    ],
)
def test_what_is_no_mapping_is_not_merged(text, problem):
    with pytest.raises(InvalidConfiguration, match=problem):
        read(text)


def test_merge_keys_nest_only_so_deep():
    levels = ["l0: &l0 {a: 1}"] + [f"l{n}: &l{n} {{<<: *l{n - 1}}}" for n in range(1, 100)]
    with pytest.raises(InvalidConfiguration, match="nested too deep"):
        read("\n".join(levels) + "\n")

"""The mutants of ``make soak-mutants``: each still applies to the product, and each rule has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.mutants import MUTANTS, DoesNotApply, Mutant
from soak.trouble import TROUBLE
from soak.updates import UPDATES
from soak.work import WORK

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_the_product_as_it_is(mutant, tmp_path):
    for file, _, _ in mutant.edits:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((TOP / file).read_bytes())
    mutant.apply(tmp_path)
    for file in {file for file, _, _ in mutant.edits}:
        changed = (tmp_path / file).read_text(encoding="utf-8")
        assert changed != (TOP / file).read_text(encoding="utf-8")
        if file.endswith(".py"):
            compile(changed, file, "exec")


def test_each_rule_that_a_soak_sees_broken_has_a_mutant():
    assert {mutant.rule for mutant in MUTANTS} == {1, 2, 3, 4, 5, 6, 7, 9, "updates"}


def test_a_mutant_whose_text_is_gone_is_an_error(tmp_path):
    (tmp_path / "rules.py").write_text("ALLOWED = True\n", encoding="utf-8")
    with pytest.raises(DoesNotApply, match="rules"):
        Mutant(1, "nothing", (("rules.py", "DENIED", ""),)).apply(tmp_path)


def test_what_a_mutant_wants_more_of_is_something_that_a_soak_does():
    known = {kind.__name__.replace("_", " ") for kind, _ in (*WORK, *UPDATES, *TROUBLE)}
    assert {word for mutant in MUTANTS for word in mutant.focus} <= known

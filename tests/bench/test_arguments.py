"""What is to be measured is said by name, and what is not there is refused before anything runs."""

import pytest

from bench.__main__ import GROUPS, main


def test_help_names_all_groups_and_measures_nothing(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert all(name in told for name in GROUPS)


@pytest.mark.parametrize("wrong", ["--quik", "webhooks"])
def test_what_is_no_group_and_no_option_is_refused(capsys, wrong):
    with pytest.raises(SystemExit) as ended:
        main([wrong, "webhook"])
    assert ended.value.code == 2
    assert wrong in capsys.readouterr().err


def test_a_group_is_measured_by_its_name(capsys):
    main(["configuration", "--quick"])
    assert '"name": ' in capsys.readouterr().out

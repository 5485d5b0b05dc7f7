from __future__ import annotations

from tidegate.discovery.texts.configuration_check import render_valid
from tidegate.vcs.rules.check_run import Conclusion

SHA = "a" * 40


def test_a_valid_file_is_shown_with_the_roots_that_its_commit_deploys():
    shown = render_valid(SHA, ["network", "orders"], 2)
    assert (shown.conclusion, shown.title) == (Conclusion.SUCCESS, "Valid: 2 deployments in 2 stacks")
    assert "- `orders`" in shown.summary


def test_of_very_many_roots_the_first_are_named_and_the_rest_is_counted():
    names = [f"root-{number:03}" for number in range(500)]
    shown = render_valid(SHA, names, 1)
    assert shown.title == "Valid: 500 deployments"
    listed = shown.summary.count("- `root-")
    assert 0 < listed < len(names)
    assert shown.summary.endswith(f"- … and {len(names) - listed} more")

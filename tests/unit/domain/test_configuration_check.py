from __future__ import annotations

from tidegate.domain.check_run import Conclusion
from tidegate.domain.configuration_check import render_valid

SHA = "a" * 40


def test_a_valid_file_is_shown_with_the_roots_that_its_commit_deploys():
    shown = render_valid(SHA, ["network", "orders"], ["orders"])
    assert (shown.conclusion, shown.title) == (Conclusion.SUCCESS, "2 roots: network, orders")
    assert "- `orders`" in shown.summary


def test_of_very_many_roots_the_first_are_named_and_the_rest_is_counted():
    names = [f"root-{number:03}" for number in range(500)]
    shown = render_valid(SHA, names, names)
    assert shown.title.startswith("500 roots: root-000, ")
    listed = shown.summary.count("- `root-")
    assert 0 < listed < len(names)
    assert shown.summary.endswith(f"- … and {len(names) - listed} more")

"""Roots whose files are symbolic links, and what a change of what these lead to touches."""

from __future__ import annotations

import pytest

from tests.unit.discovery.trees import BACKEND, Link, Trees, discover
from tidegate.discovery.discover_roots import Reading, discover_roots
from tidegate.rules.errors import InvalidConfiguration

NETWORK = 'module "network" {\n  source = "%s"\n}\n'
SHARED = {
    "shared/main.tf": "# resources",
    "shared/versions.tf": "terraform {}",
    "live/dev/main.tf": Link("../../shared/main.tf"),
    "live/dev/versions.tf": Link("../../shared/versions.tf"),
    "live/dev/backend.tf": BACKEND,
    "live/prod/main.tf": Link("../dev/main.tf"),
    "live/prod/backend.tf": BACKEND,
    "live/other/backend.tf": BACKEND,
}
FILES = [
    {},
    {"tidegate.yaml": "dirs: {live/dev: {}, live/prod: {}, live/other: {}}\n"},
    {"tidegate.yaml": "dirs: {live/*: {}}\n"},
]


def names(discovery) -> list[str]:
    return [root.name for root in discovery.roots]


@pytest.mark.parametrize("file", FILES, ids=["no file", "names", "a pattern"])
class TestLinkedFiles:
    def test_a_change_of_a_linked_file_touches_all_roots_that_have_it_also_through_other_links(self, file):
        base = SHARED | file
        assert names(discover(base, base | {"shared/main.tf": "# new"})) == ["live/dev", "live/prod"]
        assert names(discover(base, base | {"shared/versions.tf": "# new"})) == ["live/dev"]

    def test_a_directory_whose_files_are_all_linked_elsewhere_is_no_root_itself(self, file):
        assert "shared" not in names(discover({}, SHARED | file, before_is_known=False))

    def test_a_link_that_leads_elsewhere_now_touches_its_root(self, file):
        base = SHARED | file
        assert names(discover(base, base | {"live/prod/main.tf": Link("../../shared/main.tf")})) == ["live/prod"]

    def test_module_calls_in_linked_files_count(self, file):
        base = SHARED | file | {"shared/main.tf": NETWORK % "../../modules/network", "modules/network/main.tf": ""}
        new = base | {"modules/network/main.tf": "# new"}
        assert names(discover(base, new)) == ["live/dev", "live/prod"]

    def test_modules_behind_a_linked_directory_are_followed(self, file):
        base = (
            SHARED
            | file
            | {
                "live/dev/modules": Link("../../modules"),
                "live/dev/net.tf": NETWORK % "./modules/network",
                "modules/network/main.tf": 'module "x" { source = "../subnet" }',
                "modules/subnet/main.tf": "",
            }
        )
        for module in ("network", "subnet"):
            new = base | {f"modules/{module}/more.tf": ""}
            assert names(discover(base, new)) == ["live/dev"]

    def test_a_link_out_of_the_repository_that_is_no_module_file_refuses_nothing(self, file):
        new = SHARED | file | {"live/dev/notes": Link("/etc/passwd"), "live/dev/backend.tf": BACKEND + "# new"}
        assert discover(SHARED | file, new).refused == ()

    def test_a_root_with_a_link_out_of_the_repository_is_refused_and_the_others_are_deployed(self, file):
        for target in ("/etc/passwd", "../../../x.tf"):
            new = SHARED | file | {"live/dev/evil.tf": Link(target), "live/other/backend.tf": BACKEND + "# new"}
            discovery = discover(SHARED | file, new)
            assert names(discovery) == ["live/other"]
            assert "live/dev/evil.tf" in discovery.refused[0]
            assert "points outside of the repository" in discovery.refused[0]

    def test_a_link_out_of_the_repository_in_a_module_refuses_its_users(self, file):
        base = SHARED | file | {"live/dev/net.tf": NETWORK % "../../modules/n", "modules/n/main.tf": ""}
        discovery = discover(base, base | {"modules/n/x.tf": Link("/etc/x.tf")})
        assert names(discovery) == []
        assert any("modules/n/x.tf" in sentence for sentence in discovery.refused)

    def test_links_in_cycles_and_to_nothing_are_no_files(self, file):
        new = SHARED | file | {"live/x/main.tf": Link("main.tf"), "live/y/main.tf": Link("../gone.tf")}
        found = names(discover({}, new, before_is_known=False))
        assert [name for name in found if name in {"live/x", "live/y"}] == []


def test_a_linked_directory_is_no_root_by_itself_and_one_by_name():
    base = {"template/main.tf": BACKEND, "live": Link("template")}
    assert names(discover({}, base, before_is_known=False)) == ["template"]
    named = base | {"tidegate.yaml": "dirs: {live: {}}\n"}
    assert names(discover(named, named | {"template/main.tf": BACKEND + "# new"})) == ["live"]


def test_modules_in_cycles_of_links_are_followed_to_an_end():
    base = {"a/main.tf": BACKEND + NETWORK % "./self/m", "a/self": Link("../a"), "a/m/main.tf": NETWORK % "./self/m"}
    base |= {"a/m/self": Link("..")}
    assert names(discover(base, base | {"a/m/x.tf": ""})) == ["a"]


def test_files_that_engines_leave_out_make_no_root():
    assert names(discover({}, {"a/.#main.tf": "", "b/.tf": ""}, before_is_known=False)) == []


def test_what_is_known_of_the_commit_before_serves_the_next_one_unless_links_are_concerned():
    trees = Trees({}, SHARED, before_is_known=False)
    known = discover_roots(trees, Reading("acme/infra")).index
    first = SHARED | {"live/other/backend.tf": BACKEND + "# new"}
    found = discover_roots(Trees(SHARED, first), Reading("acme/infra"), known=known)
    assert (names(found), found.index) == (["live/other"], known)
    second = first | {"shared/main.tf": NETWORK % "../../modules/n", "modules/n/main.tf": ""}
    found = discover_roots(Trees(first, second), Reading("acme/infra"), known=known)
    assert names(found) == ["live/dev", "live/prod"]
    third = second | {"modules/n/main.tf": "# new"}
    assert names(discover_roots(Trees(second, third), Reading("acme/infra"), known=found.index)) == [
        "live/dev",
        "live/prod",
    ]


def test_a_change_that_is_reached_by_links_in_too_many_ways_is_refused(monkeypatch):
    monkeypatch.setattr("tidegate.discovery.touched_roots._MOST_PATHS", 2)
    with pytest.raises(InvalidConfiguration, match="too many symbolic links"):
        discover(SHARED, SHARED | {"shared/main.tf": "# new"})

"""Which engine runs a root where files such as .terraform-version choose it."""

from __future__ import annotations

import pytest

from tests.unit.discovery.trees import BACKEND, Trees, discover
from tidegate.config.organization import read_organization
from tidegate.discovery.discover_roots import Reading, discover_roots
from tidegate.roots.rules.root import Engine, EngineName

BASE = {
    ".terraform-version": "1.5.7\n",
    "live/app/main.tf": BACKEND,
    "live/db/main.tf": BACKEND,
    "live/db/.terraform-version": "# ours\nv1.9.8 # pinned\n",
}
APP, DB = "live/app", "live/db"


def engines(files: dict[str, str]) -> dict[str, Engine]:
    return {root.name: root.engine for root in discover({}, files, before_is_known=False).roots}


def names(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return [root.name for root in discover(old, new).roots]


def test_the_nearest_file_at_or_above_a_root_chooses_its_version():
    assert engines(BASE) == {APP: Engine(version="1.5.7"), DB: Engine(version="1.9.8")}


def test_a_file_of_opentofu_s_chooses_the_engine_as_well():
    files = BASE | {"live/.opentofu-version": "1.10.0"}
    assert engines(files) == {APP: Engine(EngineName.TOFU, "1.10.0"), DB: Engine(version="1.9.8")}
    both = BASE | {".opentofu-version": "1.10.0"}
    assert engines(both)[APP] == Engine(version="1.5.7")
    assert engines(both | {"tidegate.yaml": "engine: tofu\n"}) == dict.fromkeys(
        (APP, DB), Engine(EngineName.TOFU, "1.10.0")
    )


def test_the_configuration_comes_first():
    text = "engine: {version: 1.11.4}\n"
    assert engines(BASE | {"tidegate.yaml": text}) == dict.fromkeys((APP, DB), Engine(version="1.11.4"))
    text = "dirs: {live/app: {engine: {version: 1.11.3}}, live/db: {}}\n"
    assert engines(BASE | {"tidegate.yaml": text}) == {APP: Engine(version="1.11.3"), DB: Engine(version="1.9.8")}


@pytest.mark.parametrize(
    ("demands", "version"),
    [
        (["1.9.8"], "1.9.8"),
        (["= 1.9.8"], "1.9.8"),
        (["1.9.8", "=1.9.8"], "1.9.8"),
        (["~> 1.9.0"], None),
        (["= 1.9.8, < 2"], None),
        (["1.9.8", ">= 1.5"], None),
        (["1.9.8", "1.9.7"], None),
    ],
)
def test_an_exact_version_that_a_module_demands_is_chosen_where_nothing_else_does(demands, version):
    files = {
        f"a/{number}.tf": f'terraform {{\n  required_version = "{text}"\n}}\n' for number, text in enumerate(demands)
    }
    files["a/main.tf"] = BACKEND
    assert engines(files)["a"] == Engine(version=version)
    assert engines(files | {".terraform-version": "1.5.7"})["a"] == Engine(version="1.5.7")
    assert engines(files | {"tidegate.yaml": "engine: {version: 1.11.4}\n"})["a"] == Engine(version="1.11.4")
    named = files | {"tidegate.yaml": "when_modified: {follow_modules: false}\ndirs: {a: {engine: tofu}}\n"}
    assert engines(named)["a"] == Engine(EngineName.TOFU, version)


def test_a_demand_that_changes_is_seen_also_where_modules_are_not_followed():
    base = {"a/main.tf": 'terraform {\n  required_version = "1.9.8"\n}\n'}
    base["tidegate.yaml"] = "when_modified: {follow_modules: false}\ndirs: {a: {}}\n"
    known = discover_roots(Trees({}, base, before_is_known=False), Reading("acme/infra")).index
    new = base | {"a/main.tf": base["a/main.tf"].replace("1.9.8", "1.9.7")}
    found = discover_roots(Trees(base, new), Reading("acme/infra"), known=known)
    assert found.roots[0].engine == Engine(version="1.9.7")


@pytest.mark.parametrize("text", ["latest", "", "latest:^1.5", "~> 1.5", "1.5", "1.5.7; id"])
def test_a_file_without_an_exact_version_refuses_its_roots_alone(text):
    discovery = discover(BASE, BASE | {"live/db/.terraform-version": text, "live/app/main.tf": BACKEND + "# new"})
    assert [root.name for root in discovery.roots] == [APP]
    assert "live/db/.terraform-version" in discovery.refused[0]
    assert "1.11.4" in discovery.refused[0]


def test_an_engine_that_the_organization_does_not_allow_is_refused():
    organization = read_organization(b"limits: {engines: {terraform: ['1.9.8']}}\n")
    found = discover_roots(Trees({}, BASE, before_is_known=False), Reading("acme/infra", organization))
    assert [root.name for root in found.roots] == [DB]
    assert ".terraform-version" in found.refused[0]


def test_a_change_of_such_a_file_touches_the_roots_that_it_chooses_for():
    assert names(BASE, BASE | {".terraform-version": "1.5.6"}) == [APP]
    assert names(BASE, BASE | {"live/db/.terraform-version": "1.9.7"}) == [DB]
    assert names(BASE, BASE | {"live/.opentofu-version": "1.10.0"}) == [APP]
    without = {path: text for path, text in BASE.items() if path != "live/db/.terraform-version"}
    assert names(BASE, without) == [DB]
    assert engines(without)[DB] == Engine(version="1.5.7")
    chosen = {"tidegate.yaml": "engine: {version: 1.11.4}\n"}
    assert names(BASE | chosen, BASE | chosen | {".terraform-version": "1.5.6"}) == []
    why = {
        each.member.root.name: each.member.why
        for each in discover(BASE, BASE | {".terraform-version": "1.5.6"}).members
    }
    assert why == {APP: "This commit changes .terraform-version, which the root uses."}


def test_what_is_known_of_the_commit_before_serves_the_next_one():
    known = discover_roots(Trees({}, BASE, before_is_known=False), Reading("acme/infra")).index
    new = BASE | {".terraform-version": "1.5.6"}
    found = discover_roots(Trees(BASE, new), Reading("acme/infra"), known=known)
    assert found.roots[0].engine == Engine(version="1.5.6")
    without = {path: text for path, text in new.items() if path != ".terraform-version"}
    found = discover_roots(Trees(new, without), Reading("acme/infra"), known=found.index)
    assert [(root.name, root.engine) for root in found.roots] == [(APP, Engine())]


LISTED = b"limits: {engines: {terraform: [1.5.7, 1.9.8, 1.11.4], tofu: ['1.*']}}\n"


def chosen_of(demand: str, **files: str):
    text = {"a/main.tf": BACKEND + f'terraform {{\n  required_version = "{demand}"\n}}\n', **files}
    trees = Trees({}, text, before_is_known=False)
    return discover_roots(trees, Reading("acme/infra", read_organization(LISTED)))


@pytest.mark.parametrize(("demand", "version"), [("~> 1.9.0", "1.9.8"), (">= 1.6, < 2", "1.11.4"), ("1.5.7", "1.5.7")])
def test_a_range_chooses_the_newest_of_the_versions_that_the_organization_lists(demand, version):
    assert [root.engine for root in chosen_of(demand).roots] == [Engine(version=version)]


def test_a_range_that_allows_none_of_the_listed_versions_refuses_the_root():
    found = chosen_of("~> 1.7.0")
    assert found.roots == ()
    assert "required_version '~> 1.7.0'" in found.refused[0]
    assert "1.5.7, 1.9.8, 1.11.4" in found.refused[0]


def test_a_range_chooses_nothing_where_the_organization_allows_patterns():
    found = chosen_of("~> 1.9.0", **{"tidegate.yaml": "engine: tofu\n"})
    assert [root.engine for root in found.roots] == [Engine(EngineName.TOFU)]

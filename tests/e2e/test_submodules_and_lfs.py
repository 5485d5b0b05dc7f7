"""Submodules of another private repository, and files in Git LFS, where the default branch's file asks for them."""

from __future__ import annotations

import pytest

from tests.e2e.project import title
from tests.e2e.pulls import Pull

pytestmark = pytest.mark.nightly

MODULE = 'variable "size" {}\n\nresource "terraform_data" "thing" {\n  input = "VALUE, ${var.size}"\n}\n'
ROOT = 'module "queue" {\n  source = "../vendor/queue"\n  size   = trimspace(file("${path.module}/size.txt"))\n}\n'


def module(project, value):
    """Push a module to the repository that is a submodule of the project's; return the commit."""
    files = {"queue/main.tf": MODULE.replace("VALUE", value)}
    return project.tidegate.maintainer.push(f"{project.name}-modules", files, f"Say {value}")


def test_a_root_that_uses_a_submodule_and_a_large_file_is_planned_and_applied_with_both(project):
    person, other = project.tidegate.maintainer, project.name.rpartition("/")[2] + "-modules"
    person.create_repository(project.name)
    files = {
        "tidegate.yaml": f"plan_review: never\nclone: {{repositories: [{other}], submodules: true, lfs: true}}\n",
        ".gitmodules": f'[submodule "vendor"]\n\tpath = vendor\n\turl = ../{other}.git\n',
        "app/main.tf": project.backed("app", ROOT),
        "app/size.txt": person.store_large_file(project.name, b"large\n"),
    }
    first = person.push(project.name, files, "Begin", submodules={"vendor": module(project, "one")})
    assert title(project.ended(first, "app")).startswith("Applied")
    assert project.value("app") == "one, large"

    larger = {"app/size.txt": person.store_large_file(project.name, b"larger\n")}
    where = {"branch": "feature", "base": "main", "submodules": {"vendor": module(project, "two")}}
    head = person.push(project.name, larger, "Move the submodule", **where)
    pull = Pull(project, person.open_pull_request(project.name, "feature", title="Move the submodule"))
    assert "two, larger" in pull.shown(head)[0]["body"]
    merged = person.merge_pull_request(project.name, pull.number)
    assert title(project.ended(merged, "app")).startswith("Applied")
    assert project.value("app") == "two, larger"

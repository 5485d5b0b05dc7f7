"""A root whose directory is deleted: what stays behind is told, and destroyed on demand."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.project import title, words
from tests.e2e.pulls import Branch, Pull
from tidegate.roots.rules.root import queue_id

pytestmark = pytest.mark.nightly


def test_what_stays_behind_of_a_deleted_root_is_counted_told_and_destroyed(project):
    base = project.push({"app": thing("one"), "db": thing("one")})
    project.deployed(base, "app", "db")

    head = project.push_files({"db/main.tf": None}, "Delete db", branch="feature", base="main")
    number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Delete db")
    pull, talk = Pull(project, number), Branch(project, number, head)
    assert "`db`: 1 resource remains" in pull.shown(head)[0]["body"]
    whole = pull.ended(head)
    assert (title(whole), whole["conclusion"]) == ("1 gone (1 resource stays)", "success")
    talk.comment("tidegate destroy -p db")
    talk.reply("not merged")

    merged = project.tidegate.maintainer.merge_pull_request(project.name, number)
    config = eventually(lambda: next(iter(project.check_runs(merged, "tidegate/config")), None), what="tidegate/config")
    assert "1 resource remains" in words(config)
    assert head_of(pull).orphaned.resources == 1

    first = project.newest(base, "db")
    talk.comment("tidegate destroy -p db")
    talk.reply("A destroy plan is being made for")
    run = project.wait(base, "db", lambda shown: shown["external_id"] != first["external_id"] and asks(shown))
    assert "This destroys 1 resource" in words(run)
    project.click(run, "Approve")
    assert title(project.ended(base, "db")).startswith("Applied")
    assert project.state("db")["resources"] == []
    eventually(lambda: head_of(pull).is_destroyed, what="db to be archived")
    assert head_of(pull).lock is None

    back = project.push({"db": thing("two")})
    project.deployed(back, "db")
    assert project.value("db") == "two"


def asks(run):
    return title(run).startswith("Review the plan")


def head_of(pull):
    return pull.tidegate.queues.read(queue_id(pull.project.name, "db"))[0]

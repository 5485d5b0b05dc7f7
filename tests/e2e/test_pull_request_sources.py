"""Where a pull request's change comes from: forks, modules of modules, several stacks, a base branch that went on."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.installation import job_of
from tests.e2e.modules import thing
from tests.e2e.pulls import Pull, edit, open_pull
from tests.stepfunctions.scenario import OperatorPorts
from tidegate.deploys.rules.speculative_plan import LayerState

PLANNED = LayerState.PLANNED


def jobs(project):
    """Return the roots of a repository that runners were started for so far."""
    tidegate = OperatorPorts(project.tidegate.cloud)
    started = {job_of(task) for task in project.tidegate.cloud.read("tasks")}
    found = [tidegate.jobs.get(name) for name in started if name]
    return {job.id for job in found if job.repository == project.name}


def test_nothing_of_a_fork_is_run_and_the_comment_says_what_to_do(project):
    project.reviewed(project.push({"app": thing()}), "app")
    before = jobs(project)
    visitor = project.person("visitor")
    fork = visitor.fork(project.name)
    files = {"app/main.tf": project.backed("app", thing("two"))}
    head = visitor.push(fork, files, "Change app", branch="more", base="main")
    pull = Pull(project, visitor.open_pull_request(project.name, "visitor:more", title="From outside"))
    (comment,) = eventually(pull.comments, what="a comment")
    assert "comes from a fork" in comment["body"]
    assert pull.ended(head)["conclusion"] == "neutral"
    again = visitor.push(fork, {"app/main.tf": project.backed("app", thing("three"))}, "Change it again", branch="more")
    assert pull.ended(again)["conclusion"] == "neutral"
    assert pull.comments() == [comment]
    assert (pull.layers(), jobs(project)) == ({}, before)


MODULES = {
    "modules/queue/main.tf": 'resource "terraform_data" "queue" {\n  input = "one"\n}\n',
    "modules/service/main.tf": 'module "queue" {\n  source = "../queue"\n}\n',
}


@pytest.mark.nightly
def test_a_change_of_a_module_that_a_module_uses_plans_the_roots_above(project):
    app = 'module "service" {\n  source = "../modules/service"\n}\n'
    project.push({"app": app, "other": thing()}, **MODULES)
    changed = {"modules/queue/main.tf": MODULES["modules/queue/main.tf"].replace("one", "two")}
    head = project.push_files(changed, "Change the queue", branch="feature", base="main")
    pull = Pull(project, project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Change"))
    (comment,) = pull.shown(head)
    assert pull.states() == {"app": PLANNED}
    assert "module.service.module.queue.terraform_data.queue" in comment["body"]


STACKS = """
dirs:
  dev/app: {tags: [dev]}
  prod/app: {tags: [prod]}
stacks:
  names:
    dev: {tag_query: dev}
    prod: {tag_query: prod, rules: {apply_after: [dev]}}
"""


@pytest.mark.nightly
def test_each_stack_has_a_comment_of_its_own_and_one_that_is_left_alone_says_so(project):
    project.push({"dev/app": thing(), "prod/app": thing()}, **{"tidegate.yaml": STACKS})
    pull, head = open_pull(project, {"dev/app": thing("two"), "prod/app": thing("${nothing.of_this_kind}")})
    comments = pull.shown(head, 2)
    dev, prod = sorted(comments, key=lambda one: "`prod`" in one["body"].splitlines()[1])
    assert "stack `dev`, tier 1 of 2" in dev["body"]
    assert "**1 root**: 1 with changes" in dev["body"]
    assert "stack `prod`, tier 2 of 2" in prod["body"]
    assert "**1 root**: 1 failed" in prod["body"]
    assert pull.ended(head)["conclusion"] == "failure"
    without = edit(project, {"prod/app": thing()})
    again = {one["id"]: one["body"] for one in pull.shown(without, 2)}
    assert "nothing of stack `prod` would change" in again[prod["id"]]
    assert "1 with changes" in again[dev["id"]]
    assert pull.ended(without)["conclusion"] == "success"


@pytest.mark.nightly
def test_what_the_base_branch_has_meanwhile_is_part_of_the_next_plan(project):
    project.push({"app": thing(), "db": thing()})
    pull, head = open_pull(project, {"app": thing("two")})
    pull.at_rest(head)
    before = pull.record.spec.base_sha
    more = 'output "of_the_base_branch" {\n  value = "merged"\n}\n'
    moved = project.push_files({"app/more.tf": more}, "Say more on main")
    next_head = edit(project, {"app": thing("three")})
    (comment,) = pull.shown(next_head)
    assert before != moved
    assert f"`{moved[:7]}`" in comment["body"]
    assert "of_the_base_branch" in comment["body"]
    eventually(lambda: pull.record.spec.base_sha == moved, what="the moved base in the record")
    project.push({"app": thing("four")})
    in_conflict = edit(project, {"app": thing("five")})
    (comment,) = pull.shown(in_conflict)
    assert "Both change 'app/main.tf'." in comment["body"].replace("\\", "")
    assert pull.ended(in_conflict)["output"]["title"] == "Conflicts with main"


LISTED = "clone: {repositories: [%s]}\n"


@pytest.mark.nightly
def test_a_module_of_another_private_repository_is_planned_if_the_default_branch_lists_it(project):
    maintainer, modules = project.tidegate.maintainer, f"{project.name}-modules"
    maintainer.push(modules, {"queue/main.tf": MODULES["modules/queue/main.tf"]}, "Begin")
    host = urlsplit(project.tidegate.cloud.info["forge_url"]).hostname
    app = f'module "queue" {{\n  source = "git::ssh://git@{host}/{modules}.git//queue"\n}}\n'
    listed = {"tidegate.yaml": LISTED % modules.rpartition("/")[2]}
    sha = project.push({"app": app}, **listed)
    project.reviewed(sha, "app")
    head = project.push_files({"app/more.tf": app.replace('"queue" {', '"more" {')}, branch="feature", base="main")
    pull = Pull(project, maintainer.open_pull_request(project.name, "feature", title="Use it twice"))
    (comment,) = pull.shown(head)
    assert pull.states() == {"app": PLANNED}
    assert "module.more.terraform_data.queue" in comment["body"]

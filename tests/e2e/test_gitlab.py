"""An installation that serves a GitLab: a merge request is planned, shown, moved, merged and deployed."""

from __future__ import annotations

import re
import uuid

import pytest

from local.client import LocalCloud
from tests import gitlab_events as events
from tests.e2e import modules
from tests.e2e.gitlab_project import Project, confirm, succeeded, waits
from tests.e2e.patience import eventually


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    log = tmp_path_factory.mktemp("gitlab") / "cloud.log"
    with LocalCloud(gitlab=True, clock=False, warm=True, log=log) as cloud:
        yield cloud


@pytest.fixture
def project(cloud):
    return Project(cloud, f"acme/networks/infra-{uuid.uuid4().hex[:6]}")


def test_a_merge_request_is_planned_shown_moved_merged_and_deployed(project):
    web = project.cloud.info["api_url"]
    first = project.push({"app": "one", "db": "one"})
    project.status(first, "tidegate/deploy: app", waits)
    assert project.links(first)["tidegate/deploy: app"].startswith(f"{web}/deployments/")
    confirm(project, first, "app")
    confirm(project, first, "db")
    for root in ("app", "db"):
        project.status(first, f"tidegate/deploy: {root}", succeeded)
        assert project.value(root) == "one"
    head = project.push({"app": "two"}, branch="feature", base="main")
    iid = project.person("developer").open_merge_request(project.name, "feature", title="Two")
    project.status(head, "tidegate/plan", succeeded)
    (note,) = eventually(lambda: project.notes(iid), what="the note")
    assert "app" in note
    newer = project.push({"app": "three", "db": "three"}, branch="feature")
    project.status(newer, "tidegate/plan", succeeded)
    eventually(lambda: "db" in project.notes(iid)[0], what="the note to show the newer commit")
    assert len(project.notes(iid)) == 1
    merged = project.person("maintainer").merge(project.name, iid)
    confirm(project, merged, "app")
    confirm(project, merged, "db")
    for root in ("app", "db"):
        project.status(merged, f"tidegate/deploy: {root}", succeeded)
        assert project.value(root) == "three"
    eventually(lambda: deployed(project, iid) == 2, what="a note that says that both are deployed, with their pages")
    eventually(lambda: project.api("GET", f"/api/pulls/{project.name}/{iid}")["merged"], what="the end of the record")
    for sha in (first, head, newer, merged):
        assert {name: link for name, link in project.links(sha).items() if not link.startswith(f"{web}/")} == {}


def deployed(project, iid):
    """Return how many deployments succeeded by the note on them, each with a link to its page."""
    (told,) = project.notes(iid, "Deployments of")
    return len(re.findall(rf"✅ \[[^]]*\]\({project.cloud.info['api_url']}/deployments/", told))


def test_commands_in_notes_are_answered_and_what_closes_leaves_nothing(project):
    project.push({"app": "one"})
    head = project.push({"app": "two"}, branch="feature", base="main")
    developer = project.person("developer")
    iid = developer.open_merge_request(project.name, "feature", title="Two", draft=True)
    note = developer.note(project.name, iid, "tidegate help")
    eventually(lambda: project.notes(iid, "tidegate deploy"), what="an answer")
    assert developer.award_emoji(project.name, iid, note) in ([], ["rocket"])
    visitor = project.person("visitor").note(project.name, iid, "tidegate deploy")
    eventually(
        lambda: project.person("visitor").award_emoji(project.name, iid, visitor) == ["confused"], what="a refusal"
    )
    project.status(head, "tidegate/plan", lambda state, _: state != "pending")
    developer.close(project.name, iid)
    eventually(lambda: project.api("GET", f"/api/pulls/{project.name}/{iid}")["closed_at"], what="the end")


def test_a_fork_is_answered_and_nothing_of_it_runs(project):
    project.push({"app": "one"})
    visitor = project.person("visitor")
    fork = visitor.fork(project.name)
    visitor.push(fork, {"app/main.tf": modules.thing("stolen")}, "Offer", branch="offer", base="main")
    iid = visitor.open_merge_request(fork, "offer", title="Offer")
    (told,) = eventually(lambda: project.notes(iid), what="a note")
    assert "fork" in told
    pull = project.api("GET", f"/api/pulls/{project.name}/{iid}")
    assert (pull["from_fork"], pull["layers"]) == (True, [])


class TestWhoeverKnowsTheWebhooksSecret:
    """They tell of what nobody did, in the maintainer's name."""

    @pytest.fixture
    def change(self, project):
        project.push({"app": "one"})
        head = project.push({"app": "two"}, branch="feature", base="main")
        return head, project.person("developer").open_merge_request(project.name, "feature", title="Two")

    def note(self, project, iid, number, text="tidegate deploy -p app --force"):
        told = events.note(text, id=number)
        told["merge_request"]["iid"] = iid
        return self.of(project, told)

    def of(self, project, payload):
        known = project.person("maintainer").project(project.name)
        where = {"id": known["id"], "path_with_namespace": project.name, "default_branch": "main"}
        who = {**events.USER, "username": "maintainer"}
        return {**payload, "project": {**events.PROJECT, **where}, "user": who, "user_username": "maintainer"}

    def refused(self, project, words):
        return eventually(lambda: [one for one in project.outcomes() if words in one], what=f"a refusal: {words}")

    def test_a_note_that_nobody_wrote_does_nothing(self, project, change):
        head, iid = change
        assert project.tell("Note Hook", self.note(project, iid, 10**9)) == 202
        self.refused(project, "The forge has no such comment.")
        assert "tidegate/deploy: app" not in project.statuses(head)

    def test_a_note_of_somebody_else_that_says_something_else_is_refused_below_it(self, project, change):
        head, iid = change
        real = project.person("developer").note(project.name, iid, "Looks good to me.")
        assert project.tell("Note Hook", self.note(project, iid, real)) == 202
        (reply,) = eventually(lambda: project.notes(iid, "**Nothing was done**"), what="the refusal")
        assert "somebody who did not write it" in reply
        assert "tidegate/deploy: app" not in project.statuses(head)

    def test_a_push_of_what_is_not_on_the_default_branch_deploys_nothing(self, project, change):
        head, _ = change
        assert project.tell("Push Hook", self.of(project, events.push(after=head))) == 202
        self.refused(project, f"The forge does not have {head} on main")
        assert "tidegate/deploy: app" not in project.statuses(head)

"""An installation that serves a GitLab: a merge request is planned, shown, moved, merged and deployed."""

from __future__ import annotations

import re
import uuid
from http import HTTPStatus
from urllib.error import HTTPError

import pytest

from tests import gitlab_events as events
from tests.e2e.config_project import sample
from tests.e2e.deadlines import eventually
from tests.e2e.gitlab_project import Project, approve, succeeded, waits
from tests.e2e.installation import job_of
from tests.e2e.pulls import gated
from tidegate_local.client import LocalCloud
from tidegate_local.demo.updates import SERVICES, SET
from tidegate_local.updates_client import app_commit, images


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
    first = project.push({"app": "one"})
    project.status(first, "tidegate/deploy: app", waits)
    assert project.links(first)["tidegate/deploy: app"].startswith(f"{web}/deployments/")
    approve(project, first, "app")
    project.status(first, "tidegate/deploy: app", succeeded)
    assert project.value("app") == "one"
    head = project.push({"app": "two"}, branch="feature", base="main")
    iid = project.person("developer").open_merge_request(project.name, "feature", title="Two")
    project.status(head, "tidegate/plan", succeeded)
    (note,) = eventually(lambda: project.notes(iid), what="the note")
    assert "<code>app</code>" in note
    newer = project.push({"app": "three", "db": "three"}, branch="feature")
    project.status(newer, "tidegate/plan", succeeded)
    eventually(lambda: "<code>db</code>" in project.notes(iid)[0], what="the note to show the newer commit")
    assert len(project.notes(iid)) == 1
    merged = project.person("maintainer").merge(project.name, iid)
    approve(project, merged, "app")
    approve(project, merged, "db")
    for root in ("app", "db"):
        project.status(merged, f"tidegate/deploy: {root}", succeeded)
        assert project.value(root) == "three"
    eventually(lambda: deployed(project, iid) == 2, what="a note that says that both are deployed, with their pages")
    eventually(
        lambda: project.api("GET", f"/api/v1/pulls/{project.name}/{iid}")["merged"], what="the end of the record"
    )
    for sha in (first, head, newer, merged):
        assert {name: link for name, link in project.links(sha).items() if not link.startswith(f"{web}/")} == {}


def deployed(project, iid):
    """Return how many deployments succeeded by the note on them, each with a link to its page."""
    told = "".join(project.notes(iid, "Deployments of"))
    return len(re.findall(rf"✅ \[[^]]*\]\({project.cloud.info['api_url']}/deployments/", told))


@pytest.mark.nightly
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
    eventually(lambda: project.api("GET", f"/api/v1/pulls/{project.name}/{iid}")["closed_at"], what="the end")


@pytest.mark.nightly
def test_a_fork_is_answered_and_nothing_of_it_runs(project):
    project.push({"app": "one"})
    visitor = project.person("visitor")
    fork = visitor.fork(project.name)
    visitor.push(fork, {"app/main.tf": project.root("app", "stolen")}, "Offer", branch="offer", base="main")
    iid = visitor.open_merge_request(fork, "offer", title="Offer")
    (told,) = eventually(lambda: project.notes(iid), what="a note")
    assert "fork" in told
    pull = project.api("GET", f"/api/v1/pulls/{project.name}/{iid}")
    assert (pull["from_fork"], pull["layers"]) == (True, [])


@pytest.mark.nightly
class TestWhileItIsPlanned:
    """The plan of ``db`` waits until somebody opens its gate: nobody does before the end."""

    @pytest.fixture
    def change(self, project, gate):
        """Open a merge request that changes ``db``; return its number, its head and its job, which is at work."""
        code = {f"{root}/main.tf": project.root(root, "one") for root in ("app", "db")}
        project.push_files({**code, "tidegate.yaml": gated(gate)})
        head = project.push({"db": "two"}, branch="feature", base="main")
        iid = project.person("developer").open_merge_request(project.name, "feature", title="Two")

        def at_work():
            jobs = [layer["job"]["id"] for layer in self.layers(project, iid) if layer["job"]]
            return [job for job in jobs if running(project, job)]

        (job,) = eventually(at_work, what="a runner that plans db")
        return iid, head, job

    def pull(self, project, iid):
        """Return the merge request as Tidegate knows it; before it does, nothing of it."""
        try:
            return project.api("GET", f"/api/v1/pulls/{project.name}/{iid}")
        except HTTPError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return {"notice": "", "layers": []}

    def layers(self, project, iid):
        return self.pull(project, iid)["layers"]

    def test_a_branch_that_is_forced_elsewhere_takes_the_plans_of_what_it_left_with_it(self, project, change):
        iid, left, job = change
        aside = project.push({"app": "aside"}, branch="aside", base="main")
        project.person("developer").force_push(project.name, "feature", aside)
        project.status(left, "tidegate/plan", lambda state, words: (state, words) == ended(aside))
        project.status(aside, "tidegate/plan", succeeded)
        eventually(lambda: not running(project, job), what="the runner of what was left to stop")
        eventually(lambda: [each["root"] for each in self.layers(project, iid)] == ["app"], what="the plan of app only")
        eventually(lambda: ["<code>db</code>" in each for each in project.notes(iid)] == [False], what="a note of app")

    def test_another_target_branch_is_planned_if_the_file_names_it_only(self, project, change):
        iid, _, job = change
        project.push_files({"README.md": "release"}, branch="release", base="main")
        project.person("developer").retarget(project.name, iid, "release")
        eventually(lambda: "destination_branches" in self.pull(project, iid)["notice"], what="why nothing is planned")
        eventually(lambda: self.layers(project, iid) == [], what="the end of what was planned")
        eventually(lambda: not running(project, job), what="the runner to stop")
        project.person("developer").retarget(project.name, iid, "main")
        eventually(lambda: [each["root"] for each in self.layers(project, iid)] == ["db"], what="the plan of db again")

    def test_what_is_closed_leaves_no_runner_and_its_status_says_so(self, project, change):
        iid, head, job = change
        project.person("developer").close(project.name, iid)
        assert project.status(head, "tidegate/plan", lambda state, _: state == "canceled")[1] == f"!{iid} was closed."
        eventually(lambda: not running(project, job), what="the runner to stop")
        eventually(lambda: self.layers(project, iid) == [], what="the end of its layers")


def running(project, job):
    """Tell whether a runner works on a job."""
    return any(job_of(task) == job and task["lastStatus"] == "RUNNING" for task in project.cloud.read("tasks"))


def ended(newer):
    return "canceled", f"Superseded by {newer[:7]}."


@pytest.mark.nightly
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
        self.refused(project, "The comment does not exist.")
        assert "tidegate/deploy: app" not in project.statuses(head)

    def test_a_note_of_somebody_else_that_says_something_else_is_refused_below_it(self, project, change):
        head, iid = change
        real = project.person("developer").note(project.name, iid, "Looks good to me.")
        assert project.tell("Note Hook", self.note(project, iid, real)) == 202
        (reply,) = eventually(lambda: project.notes(iid, "**Nothing was done**"), what="the refusal")
        assert "The author in the event is not" in reply
        assert "tidegate/deploy: app" not in project.statuses(head)

    def test_a_push_of_what_is_not_on_the_default_branch_deploys_nothing(self, project, change):
        head, _ = change
        assert project.tell("Push Hook", self.of(project, events.push(after=head))) == 202
        self.refused(project, f"The forge does not have {head} on main")
        assert "tidegate/deploy: app" not in project.statuses(head)


def test_an_announced_image_set_lands_once_its_pipeline_has_passed(project):
    """The token is one of GitLab CI, the check is a job, and the branches move by leased pushes."""
    person, app, web = project.person("maintainer"), f"{project.name}-app", project.cloud.info["api_url"]
    person.push(app, {"README.md": "# Shop\n"}, "Begin")
    begun = project.push_files(sample(app, "gitlab-ci"))
    where = f"/api/v1/config-updates/{project.name}"
    eventually(project.outcomes, what="the first push")

    def announce(number):
        app_sha, built = app_commit(number), images(SERVICES, number)
        token = person.job_token(app, app_sha, web, pipeline_id=str(number))
        return project.api("PUT", f"{where}/sets/{SET}/images/{app_sha}", built, token)["id"]

    def entry(identifier, state):
        found = project.api("GET", f"{where}/entries/{identifier}")
        return found if found["state"] == state else None

    guilty = announce(1)
    eventually(lambda: entry(guilty, "testing"), what="the first commit")
    person.run_jobs(project.name, "auto", check="failed")
    eventually(lambda: entry(guilty, "evicted"), what="the eviction")
    innocent = announce(2)
    tested = eventually(lambda: entry(innocent, "testing"), what="the second commit")["commit"]
    assert person.branches(project.name)["main"] == begun
    person.run_jobs(project.name, "auto", check="success")
    landed = eventually(lambda: entry(innocent, "landed"), what="the landing")
    branches = person.branches(project.name)
    assert landed["commit"] == tested == branches["main"] == branches["auto"]
    project.status(tested, "tidegate/config-update", succeeded)

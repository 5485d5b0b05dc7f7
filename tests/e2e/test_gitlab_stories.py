"""What people do on a GitLab: apply a merge request before its merge, approve what a policy refuses, see drift."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.gitlab_project import Project, approve, succeeded
from tests.e2e.modules import FAILS_TO_APPLY
from tests.e2e.policies import POLICY, SETS
from tests.e2e.project import rests
from tests.stepfunctions.scenario import OperatorPorts
from tidegate.roots.rules.root import schedule_name
from tidegate.rules.errors import NotFound
from tidegate_local.client import LocalCloud

pytestmark = pytest.mark.nightly

APPLIED = "version: 1\napply: in_pull_request\nmerge_after_apply: true\n"
DRIFT = "plan_review: never\ndrift: {schedules: {nightly: {tag_query: '', schedule: daily}}}\n"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    log = tmp_path_factory.mktemp("gitlab-stories") / "cloud.log"
    with LocalCloud(gitlab=True, clock=False, warm=True, log=log) as cloud:
        yield cloud


@pytest.fixture
def project(cloud):
    return Project(cloud, f"acme/networks/stories-{uuid.uuid4().hex[:6]}")


def begun(project, file, *roots, **more):
    """Push roots and a tidegate.yaml to the default branch; return the commit."""
    code = {f"{root}/main.tf": project.root(root, "one") for root in roots}
    return project.push_files({**code, "tidegate.yaml": file, **more})


def reply(project, iid, containing):
    """Return Tidegate's first note that says something."""
    return eventually(lambda: project.notes(iid, containing), what=f"a note: {containing}")[0]


def test_an_approved_merge_request_is_applied_merged_and_not_deployed_again(project):
    first = begun(project, APPLIED, "app", "db")
    for root in ("app", "db"):
        approve(project, first, root)
        project.status(first, f"tidegate/deploy: {root}", succeeded)
    head = project.push({"app": "two", "db": "two"}, branch="feature", base="main")
    developer = project.person("developer")
    iid = developer.open_merge_request(project.name, "feature", title="Two")
    project.status(head, "tidegate/plan", succeeded)
    developer.note(project.name, iid, "tidegate apply")
    assert "1 approval of the current head" in reply(project, iid, "is not applied**")
    assert "tidegate/deploy: app" not in project.statuses(head)

    project.person("reviewer").approve(project.name, iid)
    developer.note(project.name, iid, "tidegate apply")
    for root in ("app", "db"):
        approve(project, head, root)
        project.status(head, f"tidegate/deploy: {root}", succeeded)
        assert project.value(root) == "two"

    def merged():
        shown = project.person("maintainer").merge_request(project.name, iid)
        return shown["merge_commit_sha"] if shown["state"] == "merged" else None

    commit = eventually(merged, what=f"merge request {iid} merged")
    for root in ("app", "db"):
        _, words = project.status(commit, f"tidegate/deploy: {root}", succeeded)
        assert words == "Applied before the merge"
    # Nothing is locked any more.
    later = project.push({"app": "three"})
    approve(project, later, "app")
    project.status(later, "tidegate/deploy: app", succeeded)
    assert project.value("app") == "three"


def test_a_head_that_moved_on_after_its_approval_is_not_applied(project):
    first = begun(project, APPLIED, "app")
    approve(project, first, "app")
    project.status(first, "tidegate/deploy: app", succeeded)
    project.push({"app": "two"}, branch="feature", base="main")
    developer = project.person("developer")
    iid = developer.open_merge_request(project.name, "feature", title="Two")
    project.person("reviewer").approve(project.name, iid)
    head = project.push({"app": "three"}, branch="feature")
    project.status(head, "tidegate/plan", succeeded)
    developer.note(project.name, iid, "tidegate apply")
    assert "1 approval of the current head" in reply(project, iid, "is not applied**")
    assert project.value("app") == "one"


def test_the_note_of_a_merged_request_follows_its_deployments_until_all_is_done(project):
    first = begun(project, "plan_review: never\n", "app", "db")
    for root in ("app", "db"):
        project.status(first, f"tidegate/deploy: {root}", succeeded)
    fails = f"{project.root('db', 'two')}{FAILS_TO_APPLY}"
    changed = {"app/main.tf": project.root("app", "two"), "db/main.tf": fails}
    head = project.push_files(changed, branch="feature", base="main")
    iid = project.person("developer").open_merge_request(project.name, "feature", title="Two")
    project.status(head, "tidegate/plan", succeeded)
    reply(project, iid, "**2 roots**")
    merged = project.person("maintainer").merge(project.name, iid)
    project.status(merged, "tidegate/deploy: db", lambda state, _: state == "failed")
    half = reply(project, iid, "**1 of 2 roots deployed**, 1 failed")
    assert "a word before the end" in half
    assert f"]({project.cloud.info['api_url']}/deployments/" in half

    mended = project.push({"db": "three"})
    whole = reply(project, iid, "**Everything is deployed**: 2 roots.")
    assert f"with the newer `{mended[:7]}`" in whole
    assert len(project.notes(iid, "**2 roots**")) == 1


@pytest.mark.parametrize("resets", [False, True])
def test_a_refused_plan_blocks_until_an_owner_approves_the_head_and_again_after_each_push(project, resets):
    first = begun(project, SETS, "app", **{"policies/main.rego": POLICY})
    person, reviewer = project.person("maintainer"), project.person("reviewer")
    person.set_reset_approvals(project.name, on=resets)
    head = project.push({"app": "forbidden"}, branch="feature", base="main")
    iid = person.open_merge_request(project.name, "feature", title="Change")
    policy = "tidegate/policy: words"

    def refuses(sha):
        return project.status(sha, policy, lambda state, words: state == "failed" and words.startswith("Refuses"))

    assert refuses(head)[1] == "Refuses 1 plan: 1 approval needed"
    project.status(head, "tidegate/plan", lambda state, _: state == "failed")
    reviewer.approve(project.name, iid)
    assert project.status(head, policy, succeeded)[1] == "Approved by reviewer"
    project.status(head, "tidegate/plan", succeeded)
    reviewer.unapprove(project.name, iid)
    refuses(head)
    reviewer.approve(project.name, iid)
    project.status(head, policy, succeeded)

    again = project.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, branch="feature")
    refuses(again)
    if not resets:  # GitLab still shows the old approval: it is taken back and given anew.
        reviewer.unapprove(project.name, iid)
    reviewer.approve(project.name, iid)
    assert project.status(again, policy, succeeded)[1] == "Approved by reviewer"
    corrected = project.push({"app": "allowed"}, branch="feature")
    assert project.status(corrected, policy, succeeded)[1] == "Passed"
    web = project.cloud.info["api_url"]
    assert project.links(corrected)[policy].startswith(f"{web}/pulls/{project.name}/{iid}#")
    project.status(first, "tidegate/config", succeeded)
    assert project.links(first)["tidegate/config"].startswith(f"{web}/repositories/{project.name}#")


class Schedule:
    """The schedule of a project that looks for drift."""

    def __init__(self, project: Project) -> None:
        self.project, self.tidegate = project, OperatorPorts(project.cloud)

    @property
    def record(self):
        try:
            return self.tidegate.drifts.get(self.project.name, "nightly")
        except NotFound:
            return None

    def fire(self):
        """Let its time come, and return its record once the run is over."""
        before = eventually(lambda: self.record, what="the schedule")
        self.project.cloud.fire_schedule(schedule_name(self.project.name, "nightly"))

        def over():
            record = self.record
            return record if record.ended_at > before.ended_at and not record.execution else None

        return eventually(over, what="the end of the run")


def tamper(project, root, value):
    """Let somebody change what a root made, past Tidegate."""
    s3, where = project.cloud.client("s3"), {"Bucket": project.cloud.info["state_bucket"], "Key": project.key(root)}
    state = json.loads(s3.get_object(**where)["Body"].read())
    for side in ("input", "output"):
        state["resources"][0]["instances"][0]["attributes"][side]["value"] = value
    s3.put_object(**where, Body=json.dumps({**state, "serial": state["serial"] + 1}).encode())


def test_drift_has_one_issue_which_is_updated_in_place_closed_and_opened_again(project):
    first = begun(project, DRIFT, "app", "db")
    for root in ("app", "db"):
        project.status(first, f"tidegate/deploy: {root}", succeeded)
    schedule, person = Schedule(project), project.person("maintainer")
    for root in ("app", "db"):
        rests(schedule.tidegate, project.name, root)
    assert schedule.fire().issue == 0
    tamper(project, "app", "by hand")
    number = schedule.fire().issue
    issue = person.issue(project.name, number)
    assert (issue["title"], issue["state"], issue["author"]["username"]) == ("Drift: nightly", "opened", "tidegate-bot")
    assert "| `app` | drifted; to undo it: 1 to change |" in issue["description"]
    tamper(project, "db", "by hand")
    assert schedule.fire().issue == number
    assert "| `db` | drifted" in person.issue(project.name, number)["description"]
    listed = project.api("GET", f"/api/v1/drift?repository={project.name}")
    assert issue["web_url"] in json.dumps(listed)
    for root in ("app", "db"):
        tamper(project, root, "one")
    assert schedule.fire().issue == number
    assert person.issue(project.name, number)["state"] == "closed"
    tamper(project, "app", "again")
    assert schedule.fire().issue == number
    assert person.issue(project.name, number)["state"] == "opened"

"""What goes wrong in a repository: people read the engine's own words, or the line of their file, on the commit."""

from __future__ import annotations

from tests.e2e.deadlines import eventually
from tests.e2e.modules import FAILS_TO_APPLY, thing
from tests.e2e.project import title, words

FAILS_TO_INITIALIZE = 'module "gone" {\n  source = "./nowhere"\n}\n'
FAILS_TO_PLAN = 'output "x" {\n  value = local.undeclared\n}\n'


def test_an_engine_that_fails_says_why_on_the_check_run_and_the_root_beside_it_is_deployed(project):
    fails = {"init": FAILS_TO_INITIALIZE, "plan": FAILS_TO_PLAN, "apply": thing("partly") + FAILS_TO_APPLY}
    sha = project.push({**fails, "fine": thing()})
    project.approved(sha, "apply")
    project.deployed(sha, "fine")
    init, plan, apply = (project.ended(sha, root) for root in ("init", "plan", "apply"))
    assert [run["conclusion"] for run in (init, plan, apply)] == ["failure"] * 3
    assert title(plan).startswith("The plan failed: Reference to undeclared local value")
    assert title(init).startswith("The plan failed: ")
    assert title(apply).startswith("The apply failed")
    assert 'module "gone"' in init["output"]["text"]
    assert "undeclared local value" in plan["output"]["text"]
    assert "a word before the end" in apply["output"]["text"]
    tidegate = project.tidegate
    assert tidegate.audited(init["external_id"]) == tidegate.audited(plan["external_id"]) == []
    assert tidegate.audited(apply["external_id"]) == ["RUNNING", "FAILURE"]
    assert project.value("apply") == "partly"
    # The author's mistakes are no fault of Tidegate: nothing is tried again and no alarm goes off.
    for run in (init, plan, apply):
        eventually(lambda run=run: endings(tidegate, run) == ["SUCCEEDED"], what=f"the end of {run['external_id']}")

    mended = project.push({"apply": thing("whole")})
    project.deployed(mended, "apply")
    assert project.value("apply") == "whole"


def endings(tidegate, run):
    """Return how the Terraform executions of a deployment ended; what goes on is RUNNING."""
    return [item["status"] for item in tidegate.executions("terraform", run["external_id"])]


def test_a_file_that_cannot_be_used_is_told_with_its_line_and_its_correction_deploys_everything(project):
    sha = project.push({"app": thing()}, **{"tidegate.yaml": "version: 1\nroots:\n  - dir: app\n    colour: red\n"})
    told = eventually(lambda: project.check_runs(sha, "tidegate/config"), what="tidegate/config")[0]
    assert told["conclusion"] == "failure"
    assert "line 4" in title(told)
    assert "colour" in words(told)
    assert "workspace" in words(told)
    assert project.names(sha) == {"tidegate/config"}
    corrected = project.push_files({"tidegate.yaml": "version: 1\nroots:\n  - dir: app\n"})
    project.deployed(corrected, "app")
    proposed = project.push_files({"tidegate.yaml": "version: 1\ncolour: red\n"}, "Paint", branch="paint", base="main")
    project.tidegate.maintainer.open_pull_request(project.name, "paint", title="Paint")
    refused = eventually(lambda: project.check_runs(proposed, "tidegate/config"), what="tidegate/config of the head")[0]
    assert "line 2" in title(refused)

"""Pull requests that somebody made to do harm: nothing of them is more than text in comments, check runs and pages."""

from __future__ import annotations

import re

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pages import sign_in
from tests.e2e.pulls import Pull, open_pull

pytestmark = pytest.mark.nightly

#: GitHub's limits, in characters and in bytes.
MOST_COMMENT, MOST_TEXT = 65_536, 65_535
SECRET = "correct-horse-battery-staple"
TITLE = "</title><script>alert(1)</script> @everyone \u202e# [x](http://evil.example)"
FORMS = ("a`b", "```", "</details><script>alert(1)</script>", "@everyone", "[x](http://evil.example)", "a\u202eb")
HOSTILE = f"""
variable "password" {{
  default   = "{SECRET}"
  sensitive = true
}}
resource "terraform_data" "secret" {{
  input = var.password
}}
resource "terraform_data" "a_spelled" {{
  for_each = toset([{", ".join(f'"{form}"' for form in FORMS)}])
  input    = "\\u001b[31mred\\u001b]8;;http://evil.example\\u0007link\\n```\\n</details>\\n# A @everyone ${{each.key}}"
}}
"""
LARGE = f"""
locals {{
  block = join("", [for n in range(1000) : "0123456789abcdef0123456789abcdef"])
}}
resource "terraform_data" "large" {{
  for_each = toset([for n in range(160) : "n${{n}}"])
  input    = "${{each.key}}${{local.block}}"
}}
{HOSTILE}
"""


def outside_of_code(text):
    """Return a comment without what is code, where nothing is markup."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL))


def test_a_plan_of_five_megabytes_that_is_hostile_is_shown_within_limits_without_secrets_and_inert(project, browser):
    project.push({"app": thing(), "db": thing()})
    pull, head = open_pull(project, {"app": LARGE, "db": thing("two")})
    project.tidegate.maintainer.edit_pull_request(project.name, pull.number, title=TITLE)
    (comment,) = pull.shown(head)
    body = comment["body"]
    assert len(body) <= MOST_COMMENT
    assert len(body.encode()) > MOST_COMMENT // 2
    assert re.search(r"… [\d,]+ bytes omitted …", body)
    layer = pull.layers()["app"]
    assert f"/jobs/{layer.job})" in body
    assert f"/pulls/{project.name}/{pull.number})" in body
    whole = project.tidegate.object("artifact_bucket", layer.plan.text.key)
    assert len(whole) > 5_000_000
    run = pull.ended(head, "tidegate/plan: app")
    for part in ("summary", "text"):
        assert len(run["output"][part].encode()) <= MOST_TEXT
    eventually(lambda: project.tidegate.object("artifact_bucket", f"logs/{layer.job}.txt"), what="the log")
    assert "\x1b" not in body + run["output"]["text"]
    for shown in (body, run["output"]["text"], whole.decode()):
        assert SECRET not in shown
    assert all(form in body for form in ("@everyone", "evil.example", "</details><script>"))
    assert not re.search(r"@everyone|<script|evil\.example", outside_of_code(body))
    reviewer = project.person("reviewer")
    ours = [sign_in(browser, f"/pulls/{project.name}/{pull.number}").text, browser.get("/pulls").text]
    theirs = [reviewer.page(f"/{project.name}/{page}") for page in (f"pull/{pull.number}", f"runs/{run['id']}")]
    for page in (*ours, *theirs):
        assert "<script>alert" not in page
        assert 'href="http://evil.example' not in page
    assert "\u202e" not in "".join(ours)


@pytest.mark.parametrize("directory", ["a&&id", "[x](http:)<b>", "a\u202eb", "x" * 120])
def test_roots_with_hostile_names_are_not_planned_and_the_comment_says_so(project, directory):
    project.push({"fine": thing()})
    files = {f"{root}/main.tf": project.backed(root, thing("two")) for root in (directory, "fine")}
    head = project.push_files(files, "Add roots", branch="feature", base="main")
    pull = Pull(project, project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Change"))
    (comment,) = pull.shown(head)
    assert set(pull.layers()) == {"fine"}
    assert "is not a valid root name" in comment["body"]
    assert not re.search("<b>|\u202e", comment["body"])
    assert pull.ended(head)["conclusion"] == "failure"

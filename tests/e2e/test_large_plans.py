"""A plan of twenty megabytes with secrets, escape sequences and Markdown in it."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.project import title, words

pytestmark = pytest.mark.nightly

SECRET = "correct-horse-battery-staple"
#: What a check run may hold, in bytes: GitHub's limit.
MOST = 65_535

LARGE = f"""
locals {{
  block = join("", [for n in range(1000) : "0123456789abcdef0123456789abcdef"])
}}
resource "terraform_data" "large" {{
  for_each = toset([for n in range(640) : "n${{n}}"])
  input    = "${{each.key}}${{local.block}}"
}}
variable "password" {{
  default   = "{SECRET}"
  sensitive = true
}}
resource "terraform_data" "secret" {{
  input = var.password
}}
resource "terraform_data" "spelled" {{
  for_each = toset(["a`b", "```", "</details><script>alert(1)</script>", "@everyone", "[x](http://evil.example)"])
  input    = "\\u001b[31mred\\u001b]8;;http://evil.example\\u0007link\\n```\\n# Heading ${{each.key}}"
}}
output "secret" {{
  value     = "{SECRET}"
  sensitive = true
}}
"""


def test_a_plan_of_twenty_megabytes_is_shown_within_the_forges_limits_without_secrets_and_inert(project):
    tidegate = project.tidegate
    sha = project.push({"app": LARGE})
    asked = project.reviewed(sha, "app")
    assert "646 to add" in title(asked)
    for part in ("summary", "text"):
        assert len(asked["output"][part].encode()) <= MOST
    assert SECRET not in words(asked)
    assert "\x1b" not in words(asked)
    assert "\x07" not in words(asked)
    job = f"{asked['external_id']}-plan-1"
    whole = tidegate.object("artifact_bucket", f"plans/{job}/plan.txt")
    assert len(whole) > 20_000_000
    assert SECRET.encode() not in whole
    log = eventually(lambda: tidegate.object("artifact_bucket", f"logs/{job}.txt"), what="the log")
    assert SECRET.encode() not in log
    page = project.person("reviewer").page(f"/{project.name}/runs/{asked['id']}")
    assert "<script>alert" not in page
    assert 'href="http://evil.example' not in page
    project.click(asked, "Reject")
    project.ended(sha, "app")

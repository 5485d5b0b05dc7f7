"""A workflow of the repository's file runs around the engine, with the variables of each root's stack."""

from __future__ import annotations

from tests.e2e.project import title, words

WORKFLOW = (
    """
dirs:
  dev/app: {tags: [dev]}
  prod/app: {tags: [prod]}
stacks:
  names:
    dev:
      tag_query: dev
      variables: {size: small, token: token-of-dev}
    prod:
      tag_query: prod
      variables: {size: large, token: token-of-prod}
workflows:
  - tag_query: ''
    environment: 'env-${STACK_VAR_SIZE}'
    plan:
      - type: env
        name: TF_VAR_size
        cmd: [echo, '${STACK_VAR_SIZE}']
      - type: env
        name: SECRET
        sensitive: true
        cmd: [printf, 'the-%s', '${STACK_VAR_TOKEN}']
      - type: init
      - type: plan
        env: {TF_VAR_place: '${TIDEGATE_STACK}'}
      - type: run
        cmd: [sh, -c, 'echo "$TIDEGATE_ROOT in $TIDEGATE_ENVIRONMENT: $SECRET"']
    apply:
      - type: init
      - type: apply
      - type: run
        cmd: [sh, -c, 'echo "after: $STACK_VAR_SIZE"; exit 3']
hooks:
  apply:
    post:
      - type: run
        cmd: [echo, hook of an apply]
        run_on: always
""".replace('"$', '"$$')
    .replace(": $S", ": $$S")
    .replace("in $T", "in $$T")
)
ROOT = """
variable "size" {}
variable "place" {}
resource "terraform_data" "thing" { input = "${var.size} in ${var.place}" }
"""


def test_each_stack_runs_with_its_own_variables_and_a_failure_after_the_apply_leaves_it_applied(project):
    roots = {"dev/app": "small in dev", "prod/app": "large in prod"}
    sha = project.push(dict.fromkeys(roots, ROOT), **{"tidegate.yaml": WORKFLOW})
    for root, value in roots.items():
        deployment = project.approved(sha, root)["external_id"]
        applied = project.ended(sha, root)
        assert title(applied).startswith("Applied"), words(applied)
        assert "THE APPLY SUCCEEDED, BUT A STEP AFTER IT DID NOT" in words(applied)
        assert project.value(root) == value
        logs = [project.tidegate.log_of(f"{deployment}-{job}") for job in ("plan-1", "apply-1")]
        size = value.split()[0]
        assert f"{root} in env-{size}: (masked)\n" in logs[0]
        assert f"after: {size}\n" in logs[1]
        assert "hook of an apply\n" in logs[1]
        assert "THE APPLY SUCCEEDED, BUT A STEP AFTER IT DID NOT" in logs[1]

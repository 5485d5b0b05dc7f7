"""Files of Atlantis and of Terrateam, to be converted."""

from __future__ import annotations

ATLANTIS = """\
version: 3
automerge: true
projects:
- name: net
  dir: live/net
  terraform_version: v1.5.7
  autoplan:
    when_modified: ["*.tf", "../modules/**/*.tf"]
  apply_requirements: [approved, mergeable, undiverged]
  workflow: mine
- name: app
  dir: live/app
  workspace: staging
  depends_on: [net]
  execution_order_group: 2
- name: app2
  dir: live/app
  workspace: prod
  terraform_distribution: opentofu
  autoplan: {enabled: false}
- name: again
  dir: live/net
workflows:
  mine:
    plan:
      steps:
      - run: ./check.sh | tee log
      - env: {name: FOO, command: echo bar}
      - env: {name: FIXED, value: text}
      - init
      - plan: {extra_args: ["-var-file", "x.tfvars"]}
      - multienv: foo
    apply: {steps: [apply]}
"""

TERRATEAM = """\
version: "1"
default_tf_version: 1.5.7
automerge: {enabled: true}
when_modified:
  file_patterns: ["**/*.tf", "!${DIR}/docs/**", "modules/**/*.tf"]
dirs:
  envs/*/*.tf: {tags: [env]}
  live/prod:
    tags: [production]
    when_modified: {file_patterns: ["${DIR}/*.tf", "${WORKSPACE}.tfvars"]}
stacks:
  names:
    prod: {tag_query: production, rules: {apply_after: [dev], unknown: 1}}
    dev: {tag_query: development}
access_control:
  policies:
    - tag_query: production
      apply: ['team:sre', 'group:none']
      plan: 7
    - tag_query: ''
apply_requirements:
  checks:
    - tag_query: production
      approved: {enabled: true, any_of: ['team:sre']}
workflows:
  - tag_query: production
    plan: [{type: oidc, provider: aws}, {type: init}, {type: plan, mode: strict}]
"""

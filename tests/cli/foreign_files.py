"""Files of other tools, to be converted, and how they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import yaml

from tidegate.config.loader import load_configuration
from tidegate.documents.document import read_document
from tidegate_cli.converting.draft import Draft, finished
from tidegate_cli.converting.formats import draft_of, kind_of
from tidegate_cli.converting.kind import Kind

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
  dir: /live/app
  workspace: prod
  terraform_distribution: opentofu
  autoplan: {enabled: false}
  depends_on: [net]
workflows:
  mine:
    plan:
      steps:
      - env: {name: FOO, command: echo bar}
      - env: {name: FIXED, value: text}
      - init
      - run: ./build.sh | tee log
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
    prod: {tag_query: production, rules: {apply_after: [dev]}}
    dev: {tag_query: development}
access_control:
  unlock: ['team:sre']
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
    plan: [{type: init}, {type: plan, mode: strict}]
"""


class Conversions:
    """Converts texts: by the command, or as it does, which takes a fraction of the time."""

    def __init__(self, tidegate: Any, directory: Any) -> None:
        self._tidegate, self._directory = tidegate, directory

    def run(self, text: str, name: str, *words: str) -> Any:
        """Return what the command did with a text in a file of this name."""
        file = self._directory / name
        file.write_text(text)
        return self._tidegate("convert", str(file), *words)

    def made(self, text: str, name: str, *words: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the file as data, which must be usable, and the report."""
        draft, content, agreed = _converted(text, name, words)
        assert not draft.ledger.lossy(agreed)
        load_configuration(content.encode(), "acme/live")
        return yaml.safe_load(content), [asdict(each) for each in draft.ledger.entries()]

    def lost(self, text: str, name: str, *words: str) -> list[str]:
        """Return the names of what must be agreed to before a text is converted."""
        draft, content, agreed = _converted(text, name, words)
        load_configuration(content.encode(), "acme/live")
        names = list(dict.fromkeys(each.lossy for each in draft.ledger.lossy(agreed)))
        assert names
        assert not draft.ledger.lossy([*agreed, *names])
        return names


def _converted(text: str, name: str, words: Sequence[str]) -> tuple[Draft, str, list[str]]:
    """Return the draft, the file, and what is agreed to."""
    options = list(zip(words[::2], words[1::2], strict=True))
    given = {option: value for option, value in options if option != "--lossy"}
    document = read_document(name, text.encode(), merging=True)
    kind = kind_of(document, Kind(given["--from"]) if "--from" in given else None)
    draft = draft_of(document, kind, given.get("--repository"))
    return draft, finished(draft), [value for option, value in options if option == "--lossy"]


def said(report: list[dict[str, Any]], line: int) -> str:
    """Return all that a report says of a line."""
    return " ".join(each["text"] for each in report if each["line"] == line)

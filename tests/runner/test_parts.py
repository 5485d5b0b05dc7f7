"""The runner's parts that need no process: plan JSON, provider links, git's environment, settings, memory."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.credentials import answering
from runner.engine import link_providers, provider_links
from runner.faults import CommitRefused, RunnerFault
from runner.plan_json import entries, read_plan, rows_of
from runner.settings import SettingsError, read_settings
from runner.workspace import Git, git_environment
from tests.builders import any_job
from tests.runner.conftest import REPOSITORY_TOP
from tests.runner.environment import SETTINGS
from tidegate.deploys.rules.workflow import CloneSettings, RunSettings
from tidegate.plans.rules.plan import PlannedChanges, planned_changes
from tidegate.plans.rules.structured import Section
from tidegate.vcs.git.environment import authorization

PROVIDER = "providers/registry.example.com/acme/cloud/1.2.3/linux_amd64"


def written(tmp_path: Path, document: object) -> Path:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


# Plan JSON


def test_counts_and_sensitive_values_are_found_wherever_the_plan_has_them(tmp_path: Path) -> None:
    resources = [{"address": "a.b", "values": {"x": "prior-secret"}, "sensitive_values": {"x": True}}]
    document = {
        "format_version": "1.2",
        "variables": {"pw": {"value": "variable-secret"}, "name": {"value": "open"}},
        "planned_values": {"root_module": {"resources": [{"values": {"resource_changes": [{"no": "change"}]}}]}},
        "resource_drift": [
            {"change": {"actions": ["update"], "before": {"d": "drift"}, "before_sensitive": {"d": True}}}
        ],
        "resource_changes": [
            {
                "address": 'a.b["} ]"]',
                "change": {
                    "actions": ["create"],
                    "before": None,
                    "after": {"list": [{"k": "deep-secret"}, {"k": "open"}], "number": 12345, "flag": True},
                    "after_sensitive": {"list": [{"k": True}, {}], "number": True, "flag": True},
                },
            }
        ],
        "output_changes": {"o": {"actions": ["create"], "after": {"k": ["out-secret"]}, "after_sensitive": True}},
        "prior_state": {
            "values": {
                "outputs": {"old": {"sensitive": True, "value": "old-secret"}, "open": {"value": "open"}},
                "root_module": {"child_modules": [{"child_modules": [{"resources": resources}]}]},
            }
        },
        "configuration": {"root_module": {"variables": {"pw": {"sensitive": True}, "name": {}}}},
    }
    facts = read_plan(written(tmp_path, document))
    assert facts.changes == PlannedChanges(add=1, outputs=1)
    assert facts.sensitive == {
        "variable-secret",
        "drift",
        "deep-secret",
        "12345",
        "out-secret",
        "old-secret",
        "prior-secret",
    }


def test_actions_and_deferred_changes_are_counted_and_their_secrets_found(tmp_path: Path) -> None:
    invocation = {"address": "action.a.b", "config_values": {"k": "action-secret"}, "config_sensitive": {"k": True}}
    change = {"actions": ["create"], "after": {"k": "deferred-secret"}, "after_sensitive": {"k": True}}
    document = {
        "format_version": "1.2",
        "action_invocations": [invocation, {"address": "action.a.c", "config_values": {"k": "open"}}],
        "deferred_changes": [{"reason": "unknown_count", "resource_change": {"address": "a.b", "change": change}}],
        "deferred_action_invocations": [{"reason": "deferred_prereq", "action_invocation": invocation}],
    }
    facts = read_plan(written(tmp_path, document))
    assert facts.changes == planned_changes(document) == PlannedChanges(actions=2, deferred=2)
    assert facts.sensitive == {"action-secret", "deferred-secret"}


def test_rows_are_read_from_wherever_the_plan_has_changes(tmp_path: Path) -> None:
    change = {"actions": ["create"], "before": None, "after": {"k": "masked"}}
    document = {
        "format_version": "1.2",
        "variables": {"pw": {"value": "x"}},
        "resource_drift": [{"address": "a.drift", "change": {"actions": ["update"], "before": {"k": 1}, "after": {}}}],
        "resource_changes": [
            {"address": "a.b", "change": change},
            {"address": "a.c", "change": {"actions": ["no-op"]}},
        ],
        "output_changes": {"o": change},
        "action_invocations": [{"address": "action.a.b"}],
        "deferred_changes": [{"reason": "unknown_count", "resource_change": {"address": "a.d", "change": change}}],
    }
    found = list(rows_of(written(tmp_path, document), lambda text: text.replace("masked", "***")))
    assert {(each.row.section, each.row.address) for each in found} == {
        (Section.DRIFT, "a.drift"),
        (Section.RESOURCES, "a.b"),
        (Section.OUTPUTS, "o"),
        (Section.ACTIONS, "action.a.b"),
        (Section.DEFERRED, "a.d"),
    }
    assert "masked" not in repr(found)


def test_numbers_of_any_length_are_read_and_found_where_they_are_sensitive(tmp_path: Path) -> None:
    many = "1" + "0" * 5000
    file = tmp_path / "plan.json"
    change = f'{{"actions": ["create"], "after": {many}, "after_sensitive": true}}'
    file.write_text(f'{{"format_version": "1.2", "output_changes": {{"x": {change}}}}}')
    facts = read_plan(file)
    assert (facts.changes, facts.sensitive) == (PlannedChanges(outputs=1), {many})


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"resource_changes": []}', "not json"])
def test_what_is_no_plan_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content)
    with pytest.raises(ValueError, match="plan"):
        read_plan(file)


plain = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
trees = st.recursive(
    plain, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=8), each, max_size=3)
)
changes = st.fixed_dictionaries(
    {
        "address": st.text(min_size=1, max_size=10),
        "change": st.fixed_dictionaries(
            {
                "actions": st.sampled_from([["create"], ["delete"], ["update"], ["no-op"], ["delete", "create"]]),
                "after": st.dictionaries(st.text(max_size=8), trees, max_size=3),
            }
        ),
    }
)


@given(st.lists(changes, max_size=4), trees, trees)
def test_the_walk_finds_what_a_parser_finds(
    tmp_path_factory: pytest.TempPathFactory, resources: list[Any], before: Any, after: Any
) -> None:
    document = {"format_version": "1", "planned_values": before, "resource_changes": resources, "prior_state": after}
    file = written(tmp_path_factory.mktemp("plan"), document)
    found = [entry for container, _, entry in entries(file) if container == "/resource_changes"]
    assert found == resources
    assert read_plan(file).changes == planned_changes(document)


# Provider links


def mirrored(tmp_path: Path, root: Path) -> Path:
    """Link a provider as ``init`` does from a mirror on disk; return the mirror's directory of it."""
    target = tmp_path / "mirror" / "cloud"
    target.mkdir(parents=True)
    place = root / ".terraform" / PROVIDER
    place.parent.mkdir(parents=True)
    place.symlink_to(target)
    return target


def test_providers_that_are_links_can_be_linked_again(tmp_path: Path) -> None:
    target = mirrored(tmp_path, tmp_path / "plan")
    links = provider_links(tmp_path / "plan")
    assert links == {PROVIDER: str(target)}
    assert link_providers(tmp_path / "apply", links)
    assert (tmp_path / "apply" / ".terraform" / PROVIDER).resolve() == target


def test_providers_that_were_downloaded_are_not_linked(tmp_path: Path) -> None:
    place = tmp_path / ".terraform" / PROVIDER
    place.mkdir(parents=True)
    (place / "terraform-provider-cloud").touch()
    assert provider_links(tmp_path) is None


def test_modules_that_were_downloaded_need_init_again(tmp_path: Path) -> None:
    (tmp_path / ".terraform/modules").mkdir(parents=True)
    modules = [{"Key": "", "Dir": "."}, {"Key": "vpc", "Dir": ".terraform/modules/vpc"}]
    (tmp_path / ".terraform/modules/modules.json").write_text(json.dumps({"Modules": modules}))
    assert provider_links(tmp_path) is None


def test_a_root_without_providers_needs_no_links(tmp_path: Path) -> None:
    assert provider_links(tmp_path) == {}
    assert link_providers(tmp_path, {})


@pytest.mark.parametrize(
    "place",
    ["../../escaped", "providers/../../../a/b/c", "/etc/a/b/c/d/e", "modules/a/b/c/d/e", "providers/a", PROVIDER],
)
def test_links_that_lead_nowhere_or_lie_elsewhere_are_not_made(tmp_path: Path, place: str) -> None:
    target = str(tmp_path) if place != PROVIDER else str(tmp_path / "missing")
    assert not link_providers(tmp_path / "root", {place: target})
    assert not (tmp_path / "root").exists()


# Git's environment


def test_the_token_is_sent_to_the_jobs_repositories_only(tmp_path: Path) -> None:
    job = any_job(run=RunSettings(clone=CloneSettings(("modules",))))
    environ = git_environment({}, tmp_path, job, "token-of-the-forge")
    pairs = [
        (environ[f"GIT_CONFIG_KEY_{n}"], environ[f"GIT_CONFIG_VALUE_{n}"])
        for n in range(int(environ["GIT_CONFIG_COUNT"]))
    ]
    header = f"Authorization: {authorization('token-of-the-forge')}"
    urls = {f"https://github.com/acme/{name}" for name in ("infra", "infra.git", "modules", "modules.git")}
    assert {key for key, value in pairs if value == header} == {f"http.{url}.extraHeader" for url in urls}
    assert environ["GIT_ALLOW_PROTOCOL"] == "https"


def asked(helper: str, question: str) -> str:
    """Return what git's credential helper answers, as git asks it."""
    done = subprocess.run(
        ["sh", "-c", f"{helper[1:]} get"], input=question, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_git_is_told_the_token_for_the_jobs_repositories_only_and_as_long_as_it_may_ask() -> None:
    own = ("https://git.example.com:8443/acme/infra.git", "https://git.example.com:8443/acme/modules.git")
    question = 'protocol=https\nhost={}\npath={}\nwwwauth[]=Basic realm="x"\n'
    with answering("token-of-the-forge", own) as helper:
        for path in ("acme/infra.git", "acme/modules", "acme/infra"):
            answer = asked(helper, question.format("git.example.com:8443", path))
            assert answer == "username=x-access-token\npassword=token-of-the-forge\n"
        for host, path in (
            ("git.example.com", "acme/infra.git"),
            ("evil.example:8443", "acme/infra.git"),
            ("git.example.com:8443", "acme/infra-2.git"),
            ("git.example.com:8443", ""),
        ):
            assert asked(helper, question.format(host, path)) == ""
        own_question = question.format("git.example.com:8443", "acme/infra")
        assert asked(helper, f"POST / HTTP/1.1\n{own_question}") == ""
        assert asked(helper, "host=x\n") == ""
        assert "token-of-the-forge" not in helper
    assert asked(helper, own_question) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://git.example.com/acme/infra.git",
        "ssh://git.example.com/acme/infra.git",
        "file:///etc",
        "ext::sh -c id",
        "https://user:password@git.example.com/acme/infra.git",
        "http://127.0.0.1.example.com/acme/infra.git",
    ],
)
def test_other_addresses_are_not_cloned(tmp_path: Path, url: str) -> None:
    with pytest.raises(RunnerFault, match=r"HTTPS|credentials"):
        git_environment({}, tmp_path, any_job(clone_url=url), "token")


# Settings and start


@pytest.mark.parametrize(
    "variables",
    [
        {"TIDEGATE_MASK_PATTERNS": "no json"},
        {"TIDEGATE_MASK_PATTERNS": "[1]"},
        {"TIDEGATE_MASK_PATTERNS": '["(a+)+"]'},
        {"TIDEGATE_STOP_SECONDS": "soon"},
    ],
)
def test_settings_that_cannot_be_used_are_named(variables: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(variables))):
        read_settings({**SETTINGS, **variables})


def test_the_program_imports_nothing_that_its_start_would_pay_for() -> None:
    script = "import sys, runner.__main__; print(*sorted(sys.modules))"
    path = f"{REPOSITORY_TOP}:{REPOSITORY_TOP / 'layers/core/python'}"
    result = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": path}, check=True, capture_output=True, text=True
    )
    loaded = set(result.stdout.split())
    assert "runner.run" in loaded
    assert not loaded & {"boto3", "botocore", "pydantic", "urllib.request", "zipfile", "logging", "asyncio", "tempfile"}
    assert "tidegate.pull_requests.rules.untrusted_code" not in loaded


@pytest.mark.parametrize(
    ("codes", "fault"), [((0,), None), ((128, 0), None), ((1, 1, 0), CommitRefused), ((1, 1, 1), RunnerFault)]
)
def test_a_fetch_that_fails_once_is_tried_again_before_the_commit_is_refused(
    tmp_path: Path, codes: tuple[int, ...], fault: type[Exception] | None
) -> None:
    left = list(codes)
    git = Git(lambda *_: left.pop(0), {}, tmp_path, "https://forge.example/acme/infra.git")
    with pytest.raises(fault) if fault else nullcontext():
        git.fetch("0" * 40)
    assert left == []

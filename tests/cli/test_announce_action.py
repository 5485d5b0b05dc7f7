"""The GitHub Action that announces images: its script, against a server in place of GitHub's and Tidegate's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import SHA, refused

TOP = Path(__file__).parents[2]
ACTION = TOP / ".github/actions/announce"
ROUTE = f"PUT /api/v1/config-updates/acme/config/sets/shop/images/{SHA}"

pytestmark = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="it needs curl and jq")


@pytest.fixture
def announce(api, tmp_path):
    (tmp_path / "images.json").write_text('{"web": {"Tag": "a", "Digest": "b"}}')
    api.answers["GET /token"] = {"value": "token-of-actions"}

    def run(**more):
        variables = {
            "PATH": os.environ["PATH"],
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{api.url}/token?v=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token",
            "TIDEGATE_URL": f"{api.url}/",
            "CONFIG_REPOSITORY": "acme/config",
            "IMAGE_SET": "shop",
            "IMAGES": "images.json",
            "GITHUB_SHA": SHA,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "acme/shop",
            "GITHUB_RUN_ID": "77",
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "no_proxy": "127.0.0.1",
            **more,
        }
        script = [str(ACTION / "announce.sh")]
        return subprocess.run(script, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)

    return run


def test_it_announces_with_a_token_for_the_installation_and_gives_the_entry_s_id(api, announce, tmp_path):
    api.answers[ROUTE] = (202, {"id": "entry1", "state": "queued", "message": "It is in the queue."})
    done = announce(SEQUENCE="7")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "It is in the queue."), done.stderr
    asked, announced = api.asked
    assert (asked.token, asked.query) == ("request-token", {"v": "2", "audience": api.url})
    assert announced.token == "token-of-actions"
    assert announced.body == {
        "images": {"web": {"Tag": "a", "Digest": "b"}},
        "run_url": "https://github.com/acme/shop/actions/runs/77",
        "sequence": 7,
    }
    assert (tmp_path / "output").read_text() == "id=entry1\n"
    assert "::add-mask::token-of-actions" in done.stdout


def test_a_refusal_fails_the_step_with_its_reason(api, announce):
    api.answers[ROUTE] = refused(409, "superseded", "It is older.")
    done = announce()
    assert (done.returncode, "::error::It is older." in done.stdout) == (1, True)
    assert "sequence" not in json.dumps(api.asked[-1].body)


def test_without_the_permission_it_says_what_the_job_needs(announce):
    done = announce(ACTIONS_ID_TOKEN_REQUEST_URL="")
    assert (done.returncode, "id-token: write" in done.stdout) == (1, True)


def test_no_input_of_the_action_stands_in_a_script():
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    (step,) = action["runs"]["steps"]
    assert "${{" not in step["run"]
    used = {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in step["env"].values()}
    assert used == set(action["inputs"])
    example = yaml.safe_load((TOP / "examples/announcing/github.yml").read_text(encoding="utf-8"))
    given = example["jobs"]["announce"]["steps"][-1]["with"]
    assert set(given) == {name for name, each in action["inputs"].items() if each.get("required")}


def test_the_example_for_gitlab_runs_the_command_as_it_is(tidegate, api, tmp_path, monkeypatch):
    job = yaml.safe_load((TOP / "examples/announcing/gitlab.yml").read_text(encoding="utf-8"))["announce"]
    (command,) = [line for line in job["script"] if line.startswith("tidegate ")]
    (tmp_path / "images.json").write_text('{"web": {"Tag": "web:1", "Digest": "web@sha256:0"}}')
    monkeypatch.chdir(tmp_path)
    api.answers[ROUTE] = {"id": "entry1", "message": "It is in the queue."}
    (name,) = job["id_tokens"]
    result = tidegate(*command.split()[1:], **{name: "token-of-gitlab", "CI_COMMIT_SHA": SHA})
    assert (result.exit_code, api.asked[-1].token) == (0, "token-of-gitlab")
    assert job["variables"]["TIDEGATE_URL"] == job["id_tokens"][name]["aud"]

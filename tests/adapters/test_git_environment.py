"""git's environment, read back by a real git."""

from __future__ import annotations

import os
import subprocess

import pytest

from tidegate.vcs.git.environment import authorization, git_environment, refusal

URL = "https://git.example.com/acme/infra.git"
MODULES = "https://git.example.com/acme/modules.git"
TOKEN = "ghs_secret"


def told(environ, *arguments, cwd):
    """Return what git prints, or nothing when it finds nothing."""
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.fixture
def environ(tmp_path):
    hostile = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_PARAMETERS": "'core.pager=id'",
        "GIT_SSH_COMMAND": "id",
        "GIT_ASKPASS": "id",
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    (tmp_path / ".gitconfig").write_text("[credential]\n\thelper = id\n")
    return git_environment(hostile, tmp_path, (URL, MODULES), TOKEN, {"fetch.fsckObjects": "true"})


def test_the_token_is_for_its_repositories_only(environ, tmp_path):
    def header_for(url):
        return told(environ, "config", "--get-urlmatch", "http.extraHeader", url, cwd=tmp_path)

    for own in (URL, URL.removesuffix(".git"), f"{URL}/info/refs", MODULES, f"{MODULES}/info/lfs/objects/batch"):
        assert header_for(own) == f"Authorization: {authorization(TOKEN)}"
    for other in (
        "https://example.com/acme/infra.git",
        "http://git.example.com/acme/infra.git",
        "https://git.example.com:8443/acme/infra.git",
        "https://git.example.com/acme/infra-2.git",
        "https://git.example.com/acme/other.git",
        "https://git.example.com/",
    ):
        assert header_for(other) == ""
    holding = [name for name, value in environ.items() if TOKEN in value or authorization(TOKEN) in value]
    assert all(name.startswith("GIT_CONFIG_VALUE_") for name in holding)


@pytest.mark.parametrize("written", ["git@git.example.com:acme/modules.git", "ssh://git@git.example.com/acme/modules"])
def test_ssh_addresses_of_its_repositories_mean_their_https_addresses(environ, tmp_path, written):
    assert told(environ, "ls-remote", "--get-url", written, cwd=tmp_path).removesuffix(".git") == MODULES[:-4]
    other = written.replace("acme", "other")
    assert told(environ, "ls-remote", "--get-url", other, cwd=tmp_path) == other


def test_nothing_but_our_settings_configures_git(environ, tmp_path):
    origins = told(environ, "config", "--list", "--show-origin", cwd=tmp_path).splitlines()
    assert {line.split("\t")[0] for line in origins} == {"command line:"}
    assert told(environ, "config", "credential.helper", cwd=tmp_path) == ""
    assert told(environ, "config", "fetch.fsckObjects", cwd=tmp_path) == "true"
    assert not {"GIT_SSH_COMMAND", "GIT_ASKPASS", "XDG_CONFIG_HOME"} & set(environ)


def test_settings_of_the_house_cannot_be_replaced(tmp_path):
    environ = git_environment({"PATH": os.environ["PATH"]}, tmp_path, (URL,), "", {"core.hooksPath": "/hooks"})
    assert told(environ, "config", "core.hooksPath", cwd=tmp_path) == os.devnull
    assert told(environ, "config", "--get-regexp", "extraheader", cwd=tmp_path) == ""


@pytest.mark.parametrize(("file", "key"), [("ignore", "core.excludesFile"), ("attributes", "core.attributesFile")])
def test_git_reads_no_file_that_a_program_left_in_its_home(tmp_path, file, key):
    home = tmp_path / ".config/git"
    home.mkdir(parents=True)
    (home / file).write_text("*\n")
    environ = git_environment({"PATH": os.environ["PATH"]}, tmp_path, (URL,), "")
    assert told(environ, "config", key, cwd=tmp_path) == os.devnull


@pytest.mark.parametrize(
    "url", [URL, "https://git.example.com:8443/a/b.git", "http://127.0.0.1:3000/a/b.git", "http://localhost:3000/a/b"]
)
def test_a_repository_is_cloned_over_https_or_from_this_machine(url):
    assert refusal(url) is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://git.example.com/acme/infra.git", "only over HTTPS"),
        ("ssh://git.example.com/acme/infra.git", "only over HTTPS"),
        ("file:///etc", "only over HTTPS"),
        ("ext::sh -c id", "only over HTTPS"),
        ("http://127.0.0.1.example.com/acme/infra.git", "only over HTTPS"),
        ("https://user:password@git.example.com/acme/infra.git", "credentials"),
    ],
)
def test_a_token_is_sent_nowhere_else(url, why):
    assert why in (refusal(url) or "")

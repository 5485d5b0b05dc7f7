"""Which forge an installation serves, and what follows from that."""

from __future__ import annotations

import pytest

from tidegate_cdk.settings import InvalidContext, read_settings


class Given(dict):
    def try_get_context(self, key):
        return self.get(key)


def test_github_is_the_forge_if_nobody_says_otherwise():
    settings = read_settings(Given())
    assert (settings.forge, settings.forge_url) == ("github", "https://github.com")
    assert (settings.forge_api_url, settings.app_secret_name) == ("https://api.github.com", "tidegate/github-app")


def test_gitlab_has_addresses_and_a_secret_of_its_own(monkeypatch):
    monkeypatch.delenv("BURRITO_CONTROLLER_GITLABCONFIG_URL", raising=False)
    settings = read_settings(Given(forge="gitlab"))
    assert (settings.forge, settings.forge_url) == ("gitlab", "https://gitlab.com")
    assert (settings.forge_api_url, settings.app_secret_name) == ("https://gitlab.com/api/v4", "tidegate/gitlab")


def test_ones_own_gitlab_is_named_by_its_address():
    settings = read_settings(Given(forge="gitlab", forge_url="https://git.example/"))
    assert (settings.forge_url, settings.forge_api_url) == ("https://git.example", "https://git.example/api/v4")


def test_ones_own_gitlab_may_be_named_as_the_design_does(monkeypatch):
    monkeypatch.setenv("BURRITO_CONTROLLER_GITLABCONFIG_URL", "https://git.example")
    assert read_settings(Given(forge="gitlab")).forge_url == "https://git.example"
    assert read_settings(Given()).forge_url == "https://github.com"


@pytest.mark.parametrize("forge", ["", "GitLab", "bitbucket"])
def test_another_forge_is_refused(forge):
    with pytest.raises(InvalidContext, match="github or gitlab"):
        read_settings(Given(forge=forge))

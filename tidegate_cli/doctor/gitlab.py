"""The checks of ``tidegate doctor`` for GitLab: its version, both tokens, the projects and their webhooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.vcs.gitlab.access import NOT_FOUND, GitLabAccess, GitLabCredentials, project
from tidegate_cli.doctor.result import Result
from tidegate_cli.harmless import plain

#: The oldest version whose API is as Tidegate uses it.
NEEDED_VERSION = 16
#: GitLab's level of maintainers: they set statuses of protected branches, and see webhooks.
_MAINTAINER = 40
#: Projects whose webhooks are checked, two calls for each; and those that one sentence names.
_CHECKED, _NAMED = 20, 3
#: A token that ends sooner than this is worth a warning.
_SOON = timedelta(days=30)
_PATH = "/webhooks/gitlab"
_TRIGGERS = {
    "push_events": "Push events",
    "note_events": "Comments",
    "merge_requests_events": "Merge request events",
}
#: What whoever runs a plan's code must not be able to do.
_TOO_MUCH = frozenset({"api", "write_repository", "sudo", "admin_mode"})
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class _Hook:
    """Tidegate's webhook of a project, and how its newest delivery was answered, if GitLab tells."""

    path: str
    fields: Mapping[str, Any]
    answered: str


class GitLabChecks:
    """Asks GitLab with the stored tokens, and changes nothing.

    ``storing`` returns the ``tidegate secret`` of a name with options, as text.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        clone_token: str,
        storing: Callable[[str, str], str],
        today: Callable[[], date] = date.today,
    ) -> None:
        self._url, self._storing, self._today = api_url, storing, today
        self._api = _access(api_url, token)
        self._clone = _access(api_url, clone_token)

    def results(self) -> Iterator[Result]:
        """Yield what each check found. Where the token is refused or GitLab is silent, the rest is not checked."""
        try:
            yield from self._findings()
        except ForgeUnavailable as error:
            do = f"Check that this machine reaches {self._url}."
            yield Result("GitLab", "warn", f"{self._url}: {plain(str(error))[:300]}", do)
        except ForgeRefused as error:
            found = f"GitLab refused the request ({error.status}): {plain(error.problem)[:300]}."
            yield Result("GitLab", "warn", found, "Check the token's role and scopes.")

    def _findings(self) -> Iterator[Result]:
        token = self._token()
        yield token
        if token.verdict == "fail":
            return
        yield self._version()
        yield self._clone_token()
        maintained = self._projects(min_access_level=_MAINTAINER)
        yield from self._access_to(maintained)
        if maintained:
            yield from self._webhooks(maintained)
            yield from _merges(maintained)

    def _version(self) -> Result:
        found = self._api.find("/metadata") or {}
        version = plain(str(found.get("version", "older than 15.2")))
        if version.partition(".")[0].isdigit() and int(version.partition(".")[0]) >= NEEDED_VERSION:
            return Result("GitLab", "ok", f"Version {version}.")
        return Result("GitLab", "fail", f"Its version is {version}; {NEEDED_VERSION} is needed.", "Update GitLab.")

    def _how_to_replace(self, option: str) -> str:
        return f"Create one (docs/gitlab.md) and store it: {self._storing('gitlab', f'{option} FILE')}."

    def _token(self) -> Result:
        check, do = "GitLab token", self._how_to_replace("--token-file")
        found = _of_token(self._api)
        if found is None:
            return Result(check, "fail", "GitLab refuses it: it is revoked, expired or from another GitLab.", do)
        if "api" not in found.get("scopes", ()):
            return Result(check, "fail", f"Its scopes are {_scopes(found)}. It needs api.", do)
        return self._lasting(check, found, f"Of {plain(self._api.me.username)}, with the scope api", do)

    def _clone_token(self) -> Result:
        check, do = "GitLab clone token", self._how_to_replace("--clone-token-file")
        found = _of_token(self._clone)
        if found is None:
            return Result(check, "fail", "GitLab refuses it: it is revoked, expired or from another GitLab.", do)
        scopes = set(found.get("scopes", ()))
        if scopes & _TOO_MUCH:
            why = "Runners get it, and plans run the code of others"
            return Result(check, "fail", f"Its scopes are {_scopes(found)}. {why}: read_repository is enough.", do)
        if "read_repository" not in scopes:
            return Result(check, "fail", f"Its scopes are {_scopes(found)}. It needs read_repository.", do)
        return self._lasting(check, found, f"Its only scopes are {_scopes(found)}", do)

    def _lasting(self, check: str, token: Mapping[str, Any], found: str, do: str) -> Result:
        end = token.get("expires_at")
        if not end:
            return Result(check, "ok", f"{found}.")
        soon = date.fromisoformat(str(end)[:10]) - self._today() < _SOON
        return Result(check, "warn" if soon else "ok", f"{found}, until {end}.", do if soon else "")

    def _projects(self, **query: str | int) -> Sequence[Mapping[str, Any]]:
        found = self._api.pages("/projects", membership="true", archived="false", order_by="id", **query)
        return [{**each, "path": plain(each["path_with_namespace"])} for each in found]

    def _access_to(self, maintained: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
        check, do = "GitLab projects", "Give the token's user the role Maintainer in the group, or the project."
        known = {each["path"] for each in maintained}
        less = [each["path"] for each in self._projects() if each["path"] not in known]
        if not known:
            what = f"is only a member of {_named(less)}, and maintains none" if less else "is a member of no project"
            yield Result(check, "fail", f"The token's user {what}.", do)
            return
        yield Result(check, "ok", f"The token's user maintains {_named(sorted(known))}.")
        if less:
            yield Result(f"{check}, others", "warn", f"The token's user is not a maintainer of {_named(less)}.", do)

    def _webhooks(self, maintained: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
        check, looked_at = "GitLab webhooks", maintained[:_CHECKED]
        hooks = [hook for each in looked_at for hook in self._hooks(each["path"])]
        missing = [each["path"] for each in looked_at if each["path"] not in {hook.path for hook in hooks}]
        if missing:
            do = (
                "Add it to the group or the project, with the stack's output WebhookUrl (docs/gitlab.md). Only "
                "owners of a group see its webhooks: if the group has one, ignore this warning."
            )
            yield Result(check, "warn", f"No webhook to Tidegate was found in {_named(missing)}.", do)
        rotate = self._storing("webhook", "--rotate")
        wrong = [each for hook in hooks for each in _problems(hook, f"{check}, {hook.path}", rotate)]
        yield from wrong
        if not wrong and not missing:
            triggers = ", ".join(_TRIGGERS.values())
            yield Result(check, "ok", f"{_named(hook.path for hook in hooks)}: {triggers}.")

    def _hooks(self, path: str) -> Iterator[_Hook]:
        where = f"{project(path)}/hooks"
        for each in self._api.pages(where):
            if str(each.get("url", "")).rstrip("/").endswith(_PATH):
                newest = self._newest(f"{where}/{each['id']}/events")
                yield _Hook(path, each, str(newest.get("response_status", "")))

    def _newest(self, path: str) -> Mapping[str, Any]:
        """Return the newest delivery of a webhook. Older versions of GitLab do not tell."""
        try:
            return next(iter(self._api.call("GET", path, {"per_page": 1})), {})
        except ForgeRefused:
            return {}


def _access(api_url: str, token: str) -> GitLabAccess:
    return GitLabAccess(lambda: GitLabCredentials(token, ""), api_url=api_url)


def _of_token(access: GitLabAccess) -> Mapping[str, Any] | None:
    """Return what GitLab says of a token, None if it accepts it not."""
    try:
        found: Mapping[str, Any] = access.call("GET", "/personal_access_tokens/self")
    except ForgeRefused as error:
        if error.status not in {_UNAUTHORIZED, NOT_FOUND}:
            raise
        return None
    return found


def _problems(hook: _Hook, check: str, rotate: str) -> Iterator[Result]:
    fields, settings = hook.fields, "the webhook's settings"
    missing = [words for name, words in _TRIGGERS.items() if not fields.get(name)]
    if missing:
        yield Result(check, "fail", f"It lacks the triggers {', '.join(missing)}.", f"Enable them in {settings}.")
    if fields.get("push_events") and fields.get("push_events_branch_filter"):
        found = f"It sends only pushes to {plain(fields['push_events_branch_filter'])}."
        do = f"Enable all branches in {settings}, unless that is the default branch."
        yield Result(f"{check}, branches", "warn", found, do)
    if hook.answered == str(_UNAUTHORIZED):
        do = f"Set its Secret token to a valid webhook secret: {rotate} prints a new one."
        found = "Tidegate refused its newest delivery (401): its Secret token does not match."
        yield Result(f"{check}, deliveries", "fail", found, do)
    elif fields.get("alert_status", "executable") != "executable":
        until = fields.get("disabled_until")
        found = f"GitLab disabled it after failures{f', until {until}' if until else ''}."
        do = f"Correct the cause, then test it in {settings}: a success enables it."
        yield Result(f"{check}, deliveries", "warn", found, do)


def _merges(maintained: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Look where merges do not wait for what Tidegate says. That is for the projects to decide."""
    check = "GitLab merges"
    free = [each["path"] for each in maintained if each.get("only_allow_merge_if_pipeline_succeeds") is False]
    if free:
        do = "To make merges wait, set Settings, Merge requests, Pipelines must succeed."
        yield Result(check, "warn", f"Merges do not wait for Tidegate in {_named(free)}.", do)
    switches = ("merge_pipelines_enabled", "merge_trains_enabled")
    results = [each["path"] for each in maintained if any(each.get(switch) for switch in switches)]
    if results:
        found = (
            f"Merged results pipelines or merge trains are enabled in {_named(results)}: they do not wait for Tidegate."
        )
        yield Result(f"{check}, trains", "warn", found, "To make merges wait for Tidegate, disable them.")


def _named(paths: Iterable[str]) -> str:
    known = list(paths)
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{', '.join(known[:_NAMED])}{more}"


def _scopes(token: Mapping[str, Any]) -> str:
    return plain(", ".join(sorted(map(str, token.get("scopes", ()))))) or "none"

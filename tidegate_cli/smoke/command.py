"""``tidegate smoke``: the first thing to run in an account, and again after each release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.exits import Exit
from tidegate_cli.options import Json
from tidegate_cli.problems import Refused, WrongUsage

if TYPE_CHECKING:
    from tidegate_cli.smoke.course import Outcome
    from tidegate_cli.smoke.names import Names
    from tidegate_cli.smoke.places import LocalPlace
    from tidegate_cli.smoke.scene import Scene

_LOCAL = "smoke-00000000"
#: Context keys that are the smoke test's own.
_OWN = frozenset({"prefix", "state_bucket", "webhook_secret_name", "app_secret_name", "release", "plan_review"})
_REPOSITORY = "smoke/scratch"
_API = "https://api.github.com"


def smoke(
    *,
    repository: Annotated[
        str, typer.Option("--repository", metavar="OWNER/NAME", help="A repository for smoke tests.")
    ] = "",
    app_id: Annotated[str, typer.Option("--app-id", metavar="NUMBER", help="The id of a GitHub App for them.")] = "",
    app_key: Annotated[
        Path | None, typer.Option("--app-key", metavar="FILE", help="The App's private key, a .pem file.")
    ] = None,
    context: Annotated[
        list[str] | None, typer.Option("--context", "-c", metavar="KEY=VALUE", help="A context key, as for cdk deploy.")
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Use a local cloud that it starts.")] = False,
    destroy: Annotated[str, typer.Option("--destroy", metavar="PREFIX", help="Only remove what a test left.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json: Json = False,
) -> None:
    """Deploy a throwaway installation and a root with it, upgrade it, destroy it, and report.

    All its resources begin with smoke- and eight hexadecimal digits. It removes them at the end. Exits 1 if a
    step fails.
    """
    given = _context(context or [])
    if local:
        if repository or app_id or app_key or destroy:
            raise WrongUsage("--local makes its own repository and App.", "Omit the other options.")
        _locally(given, json=json)
        return
    names = _names(destroy)
    scene = _remembered(names) if destroy else _on_aws(names, repository, app_id, app_key, given)
    _confirm(scene, is_removal=bool(destroy), yes=yes)
    _finish(scene, _run(scene, is_removal=bool(destroy), json=json), json=json)


def _names(destroy: str) -> Names:
    from tidegate_cli.smoke.names import Names, is_prefix, new_names

    if destroy and not is_prefix(destroy):
        raise WrongUsage(f"{destroy!r} is not the prefix of a smoke test.", "Use the form smoke-0a1b2c3d.")
    return Names(destroy) if destroy else new_names()


def _context(given: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if not all(key and equals for key, equals, _ in pairs):
        raise WrongUsage("A context key has no value.", "Give it as `-c KEY=VALUE`, such as `-c architecture=x86_64`.")
    if own := sorted({key for key, _, _ in pairs} & _OWN):
        raise WrongUsage(f"The smoke test sets {', '.join(own)} itself.", "Omit it.")
    if ("kms_key", "create") in {(key, value) for key, _, value in pairs}:
        raise WrongUsage("A key that the stack makes would stay behind.", "Give the ARN of a key, as `-c kms_key=ARN`.")
    if any(key == "forge" and value != "github" for key, _, value in pairs):
        raise WrongUsage("The smoke test needs GitHub.", "Omit forge.")
    return {key: value for key, _, value in pairs}


def _locally(context: Mapping[str, str], *, json: bool) -> None:
    from tidegate_cli.smoke.names import Names
    from tidegate_cli.smoke.places import LocalPlace

    # The same each time: nothing else is in this account, and its templates are made once.
    with closing(LocalPlace(Names(_LOCAL))) as place:
        scene = local_scene(place, context)
        _survey(scene)
        outcomes = _run(scene, is_removal=False, json=json)
        _finish(scene, outcomes, json=json)


def local_scene(place: LocalPlace, context: Mapping[str, str]) -> Scene:
    """Return a smoke test of a local cloud, with an empty repository at its forge."""
    from tidegate_cli.smoke.forge import NOWHERE, Scratch
    from tidegate_cli.smoke.scene import Scene
    from tidegate_local.forge.client import ForgeClient

    app = place.app()
    forge = ForgeClient(app.forge_url, app.token)
    forge.create_repository(_REPOSITORY)
    forge.point_webhook_at(NOWHERE, "nobody's")
    return Scene(place.names, place, Scratch(app, _REPOSITORY), context)


def _on_aws(names: Names, repository: str, number: str, key: Path | None, context: Mapping[str, str]) -> Scene:
    from tidegate_cli.lookup import repository as checked
    from tidegate_cli.smoke.forge import Scratch
    from tidegate_cli.smoke.places import App, AwsPlace, require_checkout
    from tidegate_cli.smoke.scene import Scene

    if not repository or not number or key is None:
        advice = "docs/smoke.md shows how to make both in five minutes. Without them: tidegate smoke --local"
        raise WrongUsage("--repository, --app-id or --app-key is missing.", advice)
    from tidegate_cli.secret import key_of

    require_checkout()
    app = key_of(number, key)
    forge_url, api_url = context.get("forge_url", "https://github.com"), context.get("forge_api_url", _API)
    given = App(app["app_id"], app["private_key"], forge_url.rstrip("/"), api_url.rstrip("/"), token=_token())
    return Scene(names, AwsPlace(names), Scratch(given, checked(repository)), context)


def _token() -> str:
    from os import environ

    from tidegate_cli.problems import NotSignedIn

    token = environ.get("TIDEGATE_TOKEN", "").strip() or environ.get("GITHUB_TOKEN", "").strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise NotSignedIn("TIDEGATE_TOKEN is not set.", 'export TIDEGATE_TOKEN="$(gh auth token)"')
    return token


def _remembered(names: Names) -> Scene:
    """Return the smoke test that was begun with this prefix, as its bucket and its secret remember it."""
    from tidegate_cli.smoke.places import AwsPlace
    from tidegate_cli.smoke.remembered import remembered

    return remembered(names, AwsPlace(names), _token)


def _confirm(scene: Scene, *, is_removal: bool, yes: bool) -> None:
    """Check what can be checked without making anything, and ask. Raise Problem."""
    from tidegate_cli import screen
    from tidegate_cli.smoke import checks, cost

    arn = checks.identify(scene)
    what = f"Remove {scene.names.prefix}" if is_removal else f"Deploy, use and destroy {scene.names.prefix}"
    screen.note(f"{what} in account {scene.account}, region {scene.place.region}, as {arn}.")
    if is_removal:
        screen.note("\n".join(["There is:", *checks.what_is_there(scene)]))
    else:
        screen.note(checks.check_builder())
        screen.note(checks.check_bootstrap(scene))
        _survey(scene)
        screen.note(f"It takes about an hour. {cost.in_words()}")
    if not yes and not typer.confirm("Begin?", err=True):
        raise Refused("Nothing happened.")


def _survey(scene: Scene) -> None:
    """Look at the account, the App and the repository. Raise Problem when one of them cannot be used."""
    from tidegate_cli import screen
    from tidegate_cli.smoke import checks

    checks.identify(scene)
    checks.refuse_taken(scene)
    screen.note(scene.scratch.check())


def _run(scene: Scene, *, is_removal: bool, json: bool) -> list[Outcome]:
    from tidegate_cli import screen
    from tidegate_cli.local import end_by_signals
    from tidegate_cli.smoke import checks, course, plan, report

    console = screen.console(stderr=json)
    arn = checks.identify(scene)
    end_by_signals()
    trials = [] if is_removal else plan.trial_steps(scene, arn)
    if not is_removal:
        screen.note(f"If you interrupt this, remove the rest: tidegate smoke --destroy {scene.names.prefix}")
    try:
        return course.run(
            trials, plan.cleaning_steps(scene), scene.place.pause, lambda step, end: report.tell(console, step, end)
        )
    except KeyboardInterrupt:
        screen.note(f"Resources are left. Remove them: tidegate smoke --destroy {scene.names.prefix}")
        raise


def _finish(scene: Scene, outcomes: Sequence[Outcome], *, json: bool) -> None:
    from tidegate_cli import screen
    from tidegate_cli.smoke import cost, report

    seconds = sum(outcome.seconds for outcome in outcomes)
    if json:
        screen.print_json(report.document(scene, outcomes, cost.estimate(seconds)))
    else:
        screen.console().print(screen.text(report.summary(scene, outcomes, cost.in_words(seconds))))
    if not report.passed(outcomes):
        raise typer.Exit(int(Exit.FAILED))

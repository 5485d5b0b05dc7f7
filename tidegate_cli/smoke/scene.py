"""Shared by the steps of a smoke test: its names, location and repository, and collected facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate_cli.problems import NotFound, Problem
from tidegate_cli.smoke.course import StepFailed, Within
from tidegate_cli.smoke.forge import Scratch
from tidegate_cli.smoke.names import Names
from tidegate_cli.smoke.places import Place

if TYPE_CHECKING:
    from tidegate.web.models import DeploymentBrief, DeploymentDetails
    from tidegate_cli.api_client import ApiClient

#: What cdk.json says of roles, secrets, hosts and mail is the real installation's: a throwaway one has nothing of it.
_OF_ITS_OWN = {
    **dict.fromkeys(("alarm_email", "domain", "certificate", "hosted_zone", "execute_api_endpoint", "kms_key"), ""),
    **dict.fromkeys(("operators_team", "web_url", "execution_url", "state_kms_key"), ""),
    **dict.fromkeys(("plan_target_roles", "apply_target_roles", "pull_request_target_roles"), "[]"),
    **dict.fromkeys(("runner_variables", "runner_secrets"), "{}"),
}


@dataclass
class Scene:
    """One smoke test. ``context`` is what the caller gave with ``-c``."""

    names: Names
    place: Place
    scratch: Scratch
    context: Mapping[str, str]
    account: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    waiting: str = ""

    @property
    def bucket(self) -> str:
        """The bucket of the root's state."""
        return self.names.state_bucket(self.account, self.place.region)

    def client(self, service: str) -> Any:
        return self.place.client(service)

    def template_context(self, release: str) -> dict[str, str]:
        """Return the context of a deploy of this release: before it go the keys that are the smoke test's own."""
        own = {
            "prefix": self.names.prefix,
            "forge": "github",
            "forge_url": self.scratch.app.forge_url,
            "forge_api_url": self.scratch.app.api_url,
            "webhook_secret_name": self.names.webhook_secret,
            "app_secret_name": self.names.app_secret,
            "state_bucket": self.bucket,
            "release": release,
            "plan_policies": "",
            "apply_policies": "",
            "pull_request_policies": "",
            "plan_review": "always",
        }
        return {**_OF_ITS_OWN, **self.context, **own}

    def read_outputs(self) -> dict[str, str]:
        """Return the stack's outputs."""
        stack = self.client("cloudformation").describe_stacks(StackName=self.names.stack)["Stacks"][0]
        return {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", [])}

    def ask(self, question: Callable[[ApiClient], Any]) -> Any:
        """Return the answer of the installation's API to a question. Raise Problem."""
        from tidegate_cli.api_client import ApiClient
        from tidegate_cli.connection import Connection

        connection = Connection(self.outputs["ApiUrl"], self.scratch.app.token, "TIDEGATE_TOKEN")
        with ApiClient(connection) as client:
            return question(client)

    def await_deployment(self, sha: str, state: str, within: Within) -> DeploymentDetails:
        """Return the root's deployment of a commit when it is in this state. Raise StepFailed."""
        from tidegate_cli.screen import is_final

        seen: list[str] = ["There is no deployment of this commit."]

        def look() -> DeploymentDetails | None:
            found = self._newest(sha, seen)
            if found is None:
                return None
            seen[0] = f"{found.id} is {found.state}. {found.reason}".strip()
            if found.state == state:
                whole: DeploymentDetails = self.ask(lambda client: client.deployment(found.id))
                return whole
            if is_final(found.state):
                raise StepFailed(seen[0], self.where(found.id))
            return None

        return within.until(look, lambda: seen[0], self.where())

    def _newest(self, sha: str, seen: list[str]) -> DeploymentBrief | None:
        try:
            listed = self.ask(lambda client: client.deployments(self.scratch.repository, self.names.root))
        except NotFound:
            return None
        except Problem as problem:
            seen[0] = problem.message
            return None
        return next((each for each in listed if each.revision == sha), None)

    def where(self, deployment: str = "") -> str:
        """Return where a person finds out why a deployment is not as expected."""
        app = "the App's settings, Advanced, show what GitHub delivered"
        if not deployment:
            return f"{app}; the log of the discovery function shows the rest."
        return f"the execution {deployment} of {self.names.prefix}-terraform in the Step Functions console; {app}."

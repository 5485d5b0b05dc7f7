"""The HTTP API and the web pages."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.repairs import Repairs
from tidegate.settings import ForgeSettings, LinkSettings, OperatorSettings

if TYPE_CHECKING:
    from tidegate.check_runs.look_at_deployment import DeploymentLooker
    from tidegate.deploys.jobs.read_log import LogReader
    from tidegate.deploys.jobs.search_deployments import DeploymentSearcher
    from tidegate.deploys.queue.look_at_queue import QueueLooker
    from tidegate.gates.look_at_change import ChangeLooker
    from tidegate.ports import Accounts, JobLogs, SignOuts
    from tidegate.pull_requests.look_at_pull_request import PullRequestLooker
    from tidegate.requests.request_deployments import DeploymentRequester
    from tidegate.vcs.adapters.accounts import OAuthClient
    from tidegate.web.application import WebApplication
    from tidegate.web.session import Sessions


class WebPages(Repairs):
    """The HTTP API and the web pages."""

    @cached_property
    def accounts(self) -> Accounts:
        from tidegate.vcs.adapters.accounts import GitHubAccounts, GitLabAccounts

        settings = ForgeSettings.from_env(self.environ)
        kind = GitLabAccounts if settings.is_gitlab else GitHubAccounts
        return kind(lambda: self.oauth_client, url=settings.url, api_url=settings.api_url)

    @property
    def oauth_client(self) -> OAuthClient:
        """The App as browsers meet it. Raise NoSignIn when its secret is not stored."""
        from tidegate.vcs.adapters.accounts import OAuthClient
        from tidegate.web.refusals import NoSignIn

        secret = self._app_secret
        client_id, client_secret = secret.get("client_id", ""), secret.get("client_secret", "")
        if not client_id or not client_secret:
            raise NoSignIn
        return OAuthClient(client_id, client_secret)

    @property
    def sessions(self) -> Sessions:
        """What signs sessions: with the client secret as it is now, so that a changed one ends them."""
        from tidegate.web.session import Sessions

        return Sessions(self.oauth_client.client_secret, time.time)

    @cached_property
    def sign_outs(self) -> SignOuts:
        from tidegate.web.adapters.sign_outs import DynamoSignOuts

        return DynamoSignOuts(self._dynamodb, self._table)

    @cached_property
    def job_logs(self) -> JobLogs:
        from tidegate.deploys.adapters.jobs import DynamoJobLogs

        return DynamoJobLogs(self._dynamodb, self._table)

    @cached_property
    def queue_looker(self) -> QueueLooker:
        from tidegate.deploys.queue.look_at_queue import QueueLooker

        return QueueLooker(self.queues, self.deployments, self.catalog)

    @cached_property
    def deployment_looker(self) -> DeploymentLooker:
        from tidegate.check_runs.look_at_deployment import DeploymentLooker

        return DeploymentLooker(
            self.queues, self.jobs, self.check_runs, self.artifacts, self.addresses, self.slot_waits
        )

    @cached_property
    def log_reader(self) -> LogReader:
        from tidegate.deploys.jobs.read_log import LogReader

        return LogReader(self.jobs, self.job_logs, self.artifacts)

    @cached_property
    def deployment_searcher(self) -> DeploymentSearcher:
        from tidegate.deploys.jobs.search_deployments import DeploymentSearcher

        return DeploymentSearcher(self.catalog)

    @cached_property
    def change_looker(self) -> ChangeLooker:
        from tidegate.gates.look_at_change import ChangeLooker

        return ChangeLooker(self.change_sets, self.deployments)

    @cached_property
    def pull_request_looker(self) -> PullRequestLooker:
        from tidegate.pull_requests.look_at_pull_request import PullRequestLooker

        return PullRequestLooker(self.pull_requests, self.temporary_layers, self.place_looker)

    @cached_property
    def deployment_requester(self) -> DeploymentRequester:
        from tidegate.requests.request_deployments import DeploymentRequester

        return DeploymentRequester(self.catalog, self.deliveries, self.events, self.clock)

    @cached_property
    def web(self) -> WebApplication:
        from tidegate.web.application import WebApplication
        from tidegate.web.parts import Parts, WebLinks

        links = LinkSettings.from_env(self.environ)
        return WebApplication(
            Parts(
                url=links.web.rstrip("/"),
                links=WebLinks(self.addresses, links.execution, self.words),
                operators_team=OperatorSettings.from_env(self.environ).team,
                sessions=lambda: self.sessions,
                sign_outs=self.sign_outs,
                accounts=self.accounts,
                forge=self.forge,
                catalog=self.catalog,
                deployments=self.deployments,
                deliveries=self.deliveries,
                change_sets=self.change_sets,
                authorizer=self.authorizer,
                clock=self.clock,
                monotonic=time.monotonic,
                queue_looker=self.queue_looker,
                deployment_looker=self.deployment_looker,
                log_reader=self.log_reader,
                searcher=self.deployment_searcher,
                change_looker=self.change_looker,
                layers=self.temporary_layers,
                pull_request_looker=self.pull_request_looker,
                drift_looker=self.drift_looker,
                look_now=self.drift_starter.look,
                decide=self.review_decider.decide,
                decide_gate=self.gate_decider.decide,
                cancel=self.deployment_canceller.cancel,
                unlock=self.queue_unlocker.unlock,
                lock=self.queue_locker.lock,
                locker=self.repository_locker,
                request=self.deployment_requester.request,
                public_keys=lambda: self.public_keys,
            )
        )

"""Common parts of all jobs: their tools, and the steps before the engine's work."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from runner import memory
from runner.aws_roles import engine_credentials, region_environment
from runner.background import Background
from runner.credentials import answering
from runner.credentials_endpoint import CredentialsEndpoint
from runner.engine import Engine
from runner.engine_environment import engine_environment
from runner.engine_install import InstalledEngine, find_engine
from runner.interruption import Interruption
from runner.log import JobLog
from runner.merging import check_out_merged
from runner.process import ProcessRunner
from runner.role_session import RoleSession
from runner.settings import Settings
from runner.submodules import check_out_submodules
from runner.web_identity import web_identity
from runner.workspace import Git, addresses, check_out, git_environment
from tidegate.aws.client import Aws
from tidegate.aws.signing import Credentials
from tidegate.deploys.rules.cluster import ProviderName
from tidegate.deploys.rules.job import Job, JobKind, TakenJob
from tidegate.vcs.git.environment import authorization


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of every step. ``directory`` is the job's own, and is deleted afterwards."""

    settings: Settings
    environ: Mapping[str, str]
    aws: Aws
    log: JobLog
    interruption: Interruption
    directory: Path
    #: The job's start on the monotonic clock.
    begun: float = field(default_factory=time.monotonic)
    #: Processes that the kernel had killed by then.
    kills: int = field(default_factory=memory.kills)

    @property
    def source(self) -> Path:
        """Where the repository is checked out."""
        return self.directory / "source"

    @property
    def processes(self) -> ProcessRunner:
        return ProcessRunner(self.interruption, self.log.write, self.settings.stop_seconds)


@dataclass(frozen=True, slots=True)
class Place:
    """The root's directory in the checkout, and the environment of the engine and other programs there."""

    root: Path
    environ: dict[str, str]


class Preparation:
    """Finds the engine and assumes its role while the job is dispatched and cloned."""

    def __init__(self, tools: Tools, job: Job) -> None:
        self._tools = tools
        self._job = job
        self._engine = Background(self._find_engine) if _needs_engine(job) else None
        self._session = Background(self._assume_role)
        self._endpoint: CredentialsEndpoint | None = None
        self._place: Place | None = None

    def place(self, taken: TakenJob) -> Place:
        """Check the commit out, once, and return the root's directory with the engine's environment."""
        if self._place is None:
            tools, job = self._tools, self._job
            root = self.check_out(taken)
            identity = self._identity(taken)
            home = tools.directory / "home"
            home.mkdir(exist_ok=True)
            more = tools.settings.runner_variables
            open_environ = _open(tools.environ, job, more)
            environ = {**engine_environment(open_environ, home, identity, job.size, more), **_closed(job)}
            self._place = Place(root, environ | region_environment(job.run.aws))
        return self._place

    def engine(self, taken: TakenJob) -> tuple[Engine, str]:
        """Check the commit out and return the engine in the root's directory, and its version."""
        tools, job, place = self._tools, self._job, self.place(taken)
        installed = (self._engine or Background(self._find_engine)).result()
        tools.log.say(f"{job.root.engine.name} {installed.version} in {job.root.dir}, commit {job.sha[:12]}")
        engine = Engine(job.root.engine.name, installed.program, place.root, place.environ, tools.processes)
        return engine, installed.version

    @property
    def credentials_problem(self) -> str:
        """Why the engine's credentials could not be renewed, empty if they could, or need not be."""
        session = self._session.result() if self._endpoint else None
        return session.problem if session else ""

    def close(self) -> None:
        """Stop serving credentials."""
        if self._endpoint:
            self._endpoint.close()

    @contextmanager
    def modules_access(self, taken: TakenJob) -> Iterator[dict[str, str]]:
        """Yield the environment with which git under the engine reads modules of the job's repositories."""
        with answering(taken.clone_token, addresses(taken.job)) if taken.clone_token else nullcontext("") as helper:
            environ = git_environment({}, self._tools.directory / "home", taken.job, "", helper=helper)
            # A module may use another protocol; the token is only sent to the job's repositories.
            del environ["GIT_ALLOW_PROTOCOL"]
            yield {name: value for name, value in environ.items() if name.startswith("GIT_")}

    def git(self, taken: TakenJob) -> Git:
        """Return git in the place of the checkout."""
        tools, job = self._tools, self._job

        def run(argv: list[str], cwd: Path, environ: Mapping[str, str], output: IO[bytes] | None) -> int:
            code = tools.processes.run(argv, cwd, environ, output)
            tools.log.end_line()
            tools.interruption.check()
            return code

        environ = git_environment(tools.environ, tools.directory, job, taken.clone_token)
        return Git(run, environ, tools.source, job.clone_url)

    def check_out(self, taken: TakenJob) -> Path:
        """Check the commit out, merged if the job says so, and return the root's directory.

        Raise CommitRefused, MergeFailed and RunnerFault.
        """
        tools, job = self._tools, self._job
        if taken.clone_token:
            tools.log.masker.add([taken.clone_token, authorization(taken.clone_token)])
        merges = job.base_sha and job.merges
        merged = f", merged into {job.base_sha[:12]}" if merges else ""
        tools.log.say(f"cloning {job.repository} at {job.sha[:12]}{merged}")
        git = self.git(taken)
        root = check_out_merged(git, job) if merges else check_out(git, job)
        if job.run.clone.submodules:
            check_out_submodules(git, job)
        if job.run.clone.lfs:
            from runner.lfs import fetch_large_files  # noqa: PLC0415  # urllib costs 50 ms, for nothing without LFS.

            tools.log.say(f"fetched {fetch_large_files(git, taken.clone_token)} files from Git LFS")
        return root

    def _find_engine(self) -> InstalledEngine:
        job, tools = self._job, self._tools
        wanted = job.engine_version or job.root.engine.version
        return find_engine(job.root.engine.name, wanted, tools.settings, tools.directory, tools.environ)

    def _assume_role(self) -> RoleSession | None:
        """Return a session of the engine's role, None if the engine assumes a role itself with the job's token."""
        aws, tools = self._job.run.aws, self._tools
        if aws and aws.web_identity:
            return None
        return RoleSession(lambda: engine_credentials(tools.aws, tools.settings, self._job), self._mask)

    def _mask(self, credentials: Credentials) -> None:
        self._tools.log.masker.add((credentials.secret_key, credentials.session_token or ""))

    def _identity(self, taken: TakenJob) -> Mapping[str, str]:
        """Return the variables of the engine's cloud identity, and mask their secrets."""
        tools, session = self._tools, self._session.result()
        tools.log.masker.add(taken.identity.tokens.values())
        by_token = web_identity(tools.aws, tools.settings, taken, tools.directory / "identity")
        if session is None:
            return by_token
        endpoint = self._endpoint = CredentialsEndpoint(session)
        tools.log.masker.add([endpoint.token])
        return {**endpoint.environment, **by_token}


def _needs_engine(job: Job) -> bool:
    """Tell whether a job runs the engine in any case: a cluster's only where that makes it."""
    return job.run.cluster is None or job.run.cluster.provider is ProviderName.TERRAFORM


def _open(environ: Mapping[str, str], job: Job, more: Collection[str]) -> Mapping[str, str]:
    """Return the runner's variables that the engine may see: a deploy's; a pull request gets none."""
    if job.kind is not JobKind.SPECULATE:
        return environ
    return {name: value for name, value in environ.items() if not name.startswith("TF_VAR_") and name not in more}


def _closed(job: Job) -> Mapping[str, str]:
    """Return the environment that keeps the engine from settings in the home directory.

    A pull request's data sources could write there before these are read, and they can name a program to run.
    """
    if job.kind is not JobKind.SPECULATE:
        return {}
    return {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}

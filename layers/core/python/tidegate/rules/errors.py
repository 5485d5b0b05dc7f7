"""Refusals: one class each, whose message says what happened, to what, and what to do.

::

    TidegateError
    ├── InvalidName            a name or path from outside that Tidegate does not accept
    ├── InvalidConfiguration   a configuration file that cannot be used
    ├── CyclicChange           roots or stacks of one change that wait for each other
    ├── InvalidStacks          declared stacks that cannot be used together
    │   ├── UnknownStack       … since one names a stack that is not declared
    │   ├── StackInItself      … since one is nested in itself
    │   ├── StackCycle         … since they would wait for each other for ever
    │   └── StackGroupsDisagree … since two stack groups set different values for one stack
    ├── InvalidWebhook         a request that is no webhook that we understand
    │   ├── UnverifiedWebhook  … whose signature does not hold
    │   └── OversizedWebhook   … that is too large
    ├── NotFound               a deployment, job or queue that does not exist
    ├── Conflict               somebody else wrote first: read again and decide again
    ├── TooLate                a task token that nobody waits for any more
    ├── ForgeUnavailable       the forge refused for now; try again after a while
    ├── ForgeRefused           the forge refused for good
    │   ├── RepositoriesUnreadable … as the App cannot read what the file lists
    │   └── AppLacksPermission … because the App was not given a permission
    ├── OversizedRecord        something that is larger than the store takes
    ├── CloudUnavailable       an AWS service refused for now; try again after a while
    │   └── AppNotStored       … as the secret of the App was not created yet
    ├── SigningRefused         a key that signs no token until a person mends it
    ├── ScheduleRefused        a schedule that the cloud does not take
    ├── AuditUnavailable       the audit message could not be published
    ├── ApplyAlreadyStarted    a second apply of one deployment
    ├── NoFreePlanSlot            a plan that has to wait until another of its repository has ended
    ├── NoFreeSlot             a job that has to wait until another runner of the installation has ended
    ├── TooManyWait            a job that would be one too many of those that wait for a runner
    ├── JobGone                a job that a runner has taken, or that was closed
    ├── DeploymentCancelled    a step of a deployment that somebody has cancelled
    └── WrongState             a step that a deployment cannot take from where it is
"""

from __future__ import annotations

from tidegate.rules.graphs import arrows

_SHOWN_OF_A_NAME = 60


def quoted(text: str) -> str:
    """Return a text from outside in quotes, shortened, with what cannot be printed escaped."""
    return repr(text if len(text) <= _SHOWN_OF_A_NAME else f"{text[: _SHOWN_OF_A_NAME - 3]}...")


class TidegateError(Exception):
    """Base class of Tidegate's refusals."""


class InvalidName(TidegateError):
    """An external name or path that is not accepted."""

    def __init__(self, kind: str, text: str, advice: str) -> None:
        super().__init__(f"{quoted(text)} is not a valid {kind}: {advice}.")
        self.kind, self.text, self.advice = kind, text, advice


class InvalidConfiguration(TidegateError):
    """An invalid configuration: the location, and what is allowed.

    ``others`` are further mistakes of the same file, in the order of its lines.
    """

    others: tuple[InvalidConfiguration, ...] = ()

    def __init__(self, file: str, line: int, problem: str, allowed: str, column: int | None = None) -> None:
        place = f"{file}:{line}" if column is None else f"{file}:{line}:{column}"
        super().__init__(f"{place}: {problem}. {allowed}.")
        self.file, self.line, self.column, self.problem, self.allowed = file, line, column, problem, allowed


class CyclicChange(TidegateError):
    """Roots or stacks of one change form a cycle. ``cycle`` names them; each depends on the next."""

    def __init__(self, what: str, cycle: tuple[str, ...], advice: str) -> None:
        super().__init__(f"{what} depend on each other: {arrows(cycle)}. {advice}.")
        self.cycle = cycle


class InvalidStacks(TidegateError):
    """Declared stacks that contradict each other.

    ``stack`` declares what is wrong, at ``path`` in it, such as ``("apply_after",)``, ``("contains",)`` or
    ``("variables", "REGION")``.
    """

    def __init__(self, stack: str, path: tuple[str, ...], problem: str, allowed: str) -> None:
        super().__init__(f"Stack {quoted(stack)}: {problem}. {allowed}.")
        self.stack, self.path, self.problem, self.allowed = stack, path, problem, allowed


class UnknownStack(InvalidStacks):
    """A stack names another, ``named``, that is not declared."""

    def __init__(self, stack: str, path: tuple[str, ...], named: str, allowed: str) -> None:
        super().__init__(stack, path, f"the stack {quoted(named)} is not declared", allowed)
        self.named = named


class StackInItself(InvalidStacks):
    """A stack is nested in itself, directly or through others."""


class StackCycle(InvalidStacks):
    """Stacks form a cycle."""


class StackGroupsDisagree(InvalidStacks):
    """Two stack groups at the same distance from a stack disagree about it, and none nearer decides."""


class InvalidWebhook(TidegateError):
    """A request that is not a valid webhook."""


class UnverifiedWebhook(InvalidWebhook):
    """A webhook whose signature is missing, of a wrong kind, or wrong."""


class OversizedWebhook(InvalidWebhook):
    """A webhook whose body is too large."""


class NotFound(TidegateError):
    """There is nothing with the requested id."""

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"There is no {kind} {identifier!r}. It may have expired.")


class NothingDeployed(NotFound):
    """A stack without deployments; ``known`` are those with some, one ``near`` maybe meant."""

    def __init__(self, stack: str, known: str, near: str | None) -> None:
        meant = f" Did you mean {quoted(near)}?" if near else ""
        there = f" Stacks with deployments: {known}." if known else ""
        TidegateError.__init__(self, f"Stack {quoted(stack)} has no deployments yet.{meant}{there}")


class Conflict(TidegateError):
    """A concurrent write. Read again and decide again."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} changed in the meantime. Read it again, then retry.")


class TooLate(TidegateError):
    """A task token has expired or was settled before."""

    def __init__(self) -> None:
        super().__init__(
            "This step no longer waits for an answer: it was already decided, or it expired. Nothing was changed."
        )


class ForgeUnavailable(TidegateError):
    """The VCS provider is unavailable for now. ``retry_after`` is in seconds."""

    def __init__(self, problem: str, retry_after: int | None = None) -> None:
        when = f" Retry in {retry_after} s." if retry_after else ""
        super().__init__(f"The VCS provider did not respond as expected: {problem}.{when}")
        self.retry_after = retry_after


class NotYet(ForgeUnavailable):
    """It is too early to publish something: it would change again immediately."""

    def __init__(self, seconds: int) -> None:
        super().__init__("what it should show is still changing", seconds)


class ForgeRefused(TidegateError):
    """The VCS provider refused permanently: a retry does not help."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(
            f"The VCS provider refused the request ({status}): {problem}. Check the App's installation and permissions."
        )
        self.status, self.problem = status, problem


class RepositoriesUnreadable(ForgeRefused):
    """The App cannot read a repository in ``clone.repositories`` of ``tidegate.yaml``."""

    def __init__(self, repositories: tuple[str, ...], refusal: ForgeRefused) -> None:
        super().__init__(
            refusal.status,
            f"the App cannot read one of {', '.join(repositories)}, which clone.repositories in the default branch's "
            f"tidegate.yaml lists ({refusal.problem}). Install the App on it, or correct the list",
        )


class AppLacksPermission(ForgeRefused):
    """The App lacks permissions for a call. ``permissions`` are the missing ones, such as ``statuses: read``."""

    def __init__(self, status: int, permissions: tuple[str, ...]) -> None:
        super().__init__(status, f"the App lacks {', '.join(permissions)}")
        self.permissions = permissions


class UnexpectedCommits(TidegateError):
    """A replay has made other commits than those that were asked for. Nothing was pushed."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The new commits are not the expected ones, and were not pushed. {problem}")


class OversizedRecord(TidegateError):
    """Something is larger than the table's limit (400 KB). A retry does not help."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} could not be stored, because it exceeds 400 KB. Split it into smaller parts.")


class CloudUnavailable(TidegateError):
    """An AWS service is unavailable for now."""

    def __init__(self, service: str, problem: str) -> None:
        super().__init__(f"{service} did not respond as expected: {problem}. Tidegate retries the call.")


class AppNotStored(CloudUnavailable):
    """The secret of the GitHub App, or of GitLab's user, does not exist yet."""

    def __init__(self, name: str) -> None:
        TidegateError.__init__(
            self,
            f"The secret {name} does not exist, so Tidegate cannot use the VCS provider. An operator runs 'tidegate "
            "setup' to create the GitHub App, or stores the tokens of GitLab with 'tidegate secret gitlab'.",
        )


class SigningRefused(TidegateError):
    """A key that cannot sign: it is disabled, about to be deleted, gone, or of the wrong type."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(
            f"The key {key} cannot sign tokens: {problem}. Ask the operators of Tidegate to run `tidegate doctor`, "
            "which shows how to restore the key, or to put another key first in identity_keys of cdk.json and "
            "deploy Tidegate."
        )


class ScheduleRefused(TidegateError):
    """A schedule that EventBridge refuses, such as one in an unknown time zone."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The schedule was refused: {reason}. Correct it in tidegate.yaml on the default branch.")


class AuditUnavailable(TidegateError):
    """The audit message could not be published, so the apply must not start."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The audit message could not be published ({problem}), so the apply was not started.")


class ApplyAlreadyStarted(TidegateError):
    """A deployment starts at most one apply, ever."""

    def __init__(self, deployment: str) -> None:
        super().__init__(f"An apply of {deployment} was already started. Tidegate never starts it twice.")


class RunnerNotOffered(TidegateError):
    """A root requests a runner that the installation does not have, or does not allow."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}. {advice}.")


class GateShut(TidegateError):
    """A dependency was run again during the review: the deployment must wait again before its apply."""

    def __init__(self, deployment: str) -> None:
        super().__init__(
            f"A dependency of {deployment} was re-run and is not deployed yet. Nothing was applied. The deployment "
            "continues automatically once the dependency is deployed."
        )


class GateBlocked(TidegateError):
    """A deployment has waited at gates or for requirements as often as an execution may."""

    def __init__(self, deployment: str, waits: int) -> None:
        super().__init__(
            f"{deployment} has already waited {waits} times for its dependencies or apply requirements, which is "
            "the limit. Nothing was applied. Check why its dependencies are re-run, then request it again."
        )


class CommitLeftBranch(TidegateError):
    """A force push removed a deployment's commit from its branch: its plan is not applied."""


class RequirementsMissing(TidegateError):
    """Apply requirements of the deployment's root are missing: the deployment waits."""

    def __init__(self, deployment: str) -> None:
        super().__init__(
            f"The apply requirements of {deployment} are not met yet. Nothing was applied. The deployment waits "
            "for them."
        )


class NoFreePlanSlot(TidegateError):
    """All plan slots of the repository are taken, or others wait already."""

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(
            f"{layer} cannot be planned yet: {reason} It continues automatically once it has a concurrency slot."
        )


class NoFreeSlot(TidegateError):
    """All runners of the installation are busy, or others wait already."""

    def __init__(self, deployment: str, reason: str) -> None:
        super().__init__(f"No runner can start for {deployment} yet: {reason}. It continues automatically.")


class TooManyWait(TidegateError):
    """The item has no room for another waiting job."""

    def __init__(self, holder: str, most: int) -> None:
        super().__init__(
            f"{holder} cannot wait for a concurrency slot: {most} others are already waiting. Nothing was changed. "
            "Raise runner_slots (tidegate_cdk/README.md), and request it again once fewer wait."
        )


class JobGone(TidegateError):
    """A job cannot be dispatched: a runner has taken it, or it is closed."""

    def __init__(self, job: str) -> None:
        super().__init__(f"A runner already claimed job {job}, or the job was closed. Tidegate never runs a job twice.")


class NotItsJob(TidegateError):
    """A reported failed call of Lambda belongs to no job that runs there."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"Somebody reported a failed Lambda invocation for the job {job[:100]!a}, but Lambda did not start "
            "that job. Nothing was changed. The report is not from Lambda: check in CloudTrail who used the role "
            "of a plan runner."
        )


class DeploymentCancelled(TidegateError):
    """A step of a cancelled deployment: its state machine ends."""

    def __init__(self, deployment: str) -> None:
        super().__init__(f"{deployment} was cancelled. Nothing more is done. Request it again to deploy it.")


class WrongState(TidegateError):
    """A step is not possible in the deployment's state."""

    def __init__(self, deployment: str, state: str, step: str) -> None:
        super().__init__(f"{deployment} is {state}, so {step} is no longer possible. Nothing was changed.")

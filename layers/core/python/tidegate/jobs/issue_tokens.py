"""Issue the identity tokens of a job when it is dispatched."""

from __future__ import annotations

from tidegate.deploys.rules.claims import audiences, claims, subject, subject_problem
from tidegate.deploys.rules.issued import NOTHING, Issued
from tidegate.deploys.rules.job import Job, JobKind, job_digest
from tidegate.deploys.rules.tokens import signing_input, token
from tidegate.ports import Ports, TokenSigner
from tidegate.rules.errors import CloudUnavailable, SigningRefused

_OFF = (
    "This installation issues no identity tokens: identity_keys in its cdk.json is empty. Ask the operators of "
    "Tidegate to add a key (docs/identity.md), or remove identity: web_identity, google and azure from the "
    "default branch's tidegate.yaml."
)
_ALTERED = (
    "No identity token was issued: the job's record was modified after the job was created, or its digest is unknown."
)


def issue_tokens(ports: Ports, job: Job, digest: str) -> Issued:
    """Return the tokens that a job needs, or why it gets none, which the runner reports as the job's failure.

    ``digest`` is that of the job as it was begun. It comes through the state machine, the job from the table, to which
    runners can write: so a job that exists only in the table gets no tokens. A replay gets none,
    whatever its record says.
    """
    wanted = audiences(job.run, ports.identity.audience)
    if not wanted or job.kind is JobKind.REPLAY:
        return NOTHING
    problem = _problem(job, digest)
    if ports.token_signer is None or problem:
        return Issued(problem=problem or _OFF)
    now = int(ports.clock.now().timestamp())
    try:
        return Issued(
            {cloud: _signed(ports, ports.token_signer, job, audience, now) for cloud, audience in wanted.items()}
        )
    except SigningRefused as error:
        return Issued(problem=str(error))
    except CloudUnavailable as error:
        return Issued(problem=f"The token of the job could not be signed. {error}", passes=True)


def _signed(ports: Ports, signer: TokenSigner, job: Job, audience: str, now: int) -> str:
    content = signing_input(claims(job, ports.identity.issuer, audience, now), signer.key)
    return token(content, signer.sign(content.encode()))


def _problem(job: Job, digest: str) -> str:
    return _ALTERED if job_digest(job) != digest else subject_problem(subject(job))

"""The claims of a job's token: one subject for repository, stack, root and phase, and the same as tags and claims.

Sources of the limits: botocore's model of STS (``SubjectFromWebIdentityToken`` has 6 to 255 characters), the data type
Tag of STS (keys of 128, values of 256 characters), IAM's guide on session tags for OpenID Connect (``principal_tags``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tidegate.deploys.rules.aws_session import session_phase, session_tags, source_identity
from tidegate.deploys.rules.job import Job
from tidegate.deploys.rules.targets import Cloud
from tidegate.deploys.rules.workflow import RunSettings

#: A token is valid from this long before it is made, as clocks of others may be behind. STS and Google allow for some
#: minutes themselves; what verifies strictly does not.
SKEW_SECONDS = 60
#: A token lives as long as its job may (``Job.seconds``), plus five minutes for the dispatch. A session renewed in
#: between needs it until then. HCP Terraform's tokens also expire when a plan or apply must have ended.
HANDOVER_SECONDS = 300
LONGEST_SUBJECT = 255
TAGS = "https://aws.amazon.com/tags"
SOURCE_IDENTITY = "https://aws.amazon.com/source_identity"
#: The audience that Azure expects in each tenant of the public cloud.
AZURE_AUDIENCE = "api://AzureADTokenExchange"
#: Stays in every role that is assumed from the session: CloudTrail and policies read it there.
TRANSITIVE = ("tidegate:repository", "tidegate:phase", "tidegate:deployment")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._/-]")


def subject(job: Job) -> str:
    """Return the subject of a job's tokens: ``repo:OWNER/NAME:stack:STACK:root:ROOT:phase:PHASE``.

    Other characters than letters, digits and ``._/-`` are written as ``%`` and two digits for each byte, as in
    addresses: no name has a colon here, so that no two jobs of different names or phases have one subject, and the end
    after the last ``:phase:`` is the phase, whatever a root is called.
    """
    said = {"repo": job.repository, "stack": job.stack, "root": job.root.name, "phase": session_phase(job)}
    return ":".join(f"{name}:{_escaped(value)}" for name, value in said.items())


def subject_problem(text: str) -> str:
    """Return why a subject cannot be used, in sentences, empty if it can."""
    if len(text) <= LONGEST_SUBJECT:
        return ""
    return (
        f"The subject of its tokens is {len(text)} characters long, but AWS allows at most {LONGEST_SUBJECT}: "
        f"{text}. Give the root or the stack a shorter name."
    )


def audiences(run: RunSettings, aws_audience: str) -> Mapping[Cloud, str]:
    """Return the audiences for which a job needs tokens, with the ``aud`` of each."""
    found = {Cloud.AWS: aws_audience} if run.aws and run.aws.web_identity else {}
    found |= {Cloud.GOOGLE: run.google.audience} if run.google else {}
    return found | ({Cloud.AZURE: AZURE_AUDIENCE} if run.azure else {})


def claims(job: Job, issuer: str, audience: str, now: int) -> Mapping[str, object]:
    """Return what a token of this job says. ``now`` is in seconds since 1970."""
    return {
        "iss": issuer,
        "sub": subject(job),
        "aud": audience,
        "iat": now - SKEW_SECONDS,
        "nbf": now - SKEW_SECONDS,
        "exp": now + job.seconds + HANDOVER_SECONDS,
        "jti": job.id,
        "repository": job.repository,
        "stack": job.stack,
        "root": job.root.name,
        "phase": session_phase(job),
        "ref": job.ref,
        "sha": job.sha,
        "deployment": job.deployment,
        SOURCE_IDENTITY: source_identity(job),
        TAGS: {
            "principal_tags": {name: [value] for name, value in session_tags(job).items()},
            "transitive_tag_keys": list(TRANSITIVE),
        },
    }


def _escaped(text: str) -> str:
    return _NOT_PLAIN.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)

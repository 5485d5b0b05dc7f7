"""What keeps plans from Lambda that synth cannot see: the region, and the machines that an image is for."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from cli.diagnosis import Finding
from tidegate.domain.deploys.plan_runner import has_tenant_isolation

_CHECK = "plan_runner"
_IMAGE = re.compile(r"[0-9]{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com/([a-z0-9._/-]+)@(sha256:[0-9a-f]{64})")
_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)
#: What images call the machines of the setting ``architecture``.
_MACHINES = {"arm64": "arm64", "x86_64": "amd64"}
_SECONDS = 10


class PlanRunnerExamination:
    """Looks at installations whose plans begin on Lambda. ``client`` gives the caller's client of a service."""

    def __init__(self, context: Mapping[str, Any], client: Callable[[str], Any], region: str) -> None:
        self._context, self._client, self._region = context, client, region

    def findings(self) -> Iterator[Finding]:
        """Yield what was found; nothing where plans run on Fargate."""
        runner = str(self._context.get("plan_runner") or "fargate")
        if runner == "fargate":
            return
        if not has_tenant_isolation(self._region):
            yield self._without_isolation(runner)
            return
        image = _IMAGE.fullmatch(str(self._context.get("runner_image") or ""))
        yield self._image(image[2], image[3]) if image else Finding(_CHECK, "ok", "Plans begin on Lambda.")

    def _without_isolation(self, runner: str) -> Finding:
        problem = f"Lambda has no tenant isolation in {self._region}, which keeps jobs apart."
        if runner == "auto":
            return Finding(_CHECK, "warn", problem, "Nothing: plans run on Fargate. Deploy with AWS_REGION set.")
        return Finding(_CHECK, "fail", problem, "Set plan_runner to fargate in cdk.json, or use another region.")

    def _image(self, name: str, digest: str) -> Finding:
        wanted = _MACHINES[str(self._context.get("architecture") or "arm64")]
        try:
            machine = self._machine(name, digest)
        except (BotoCoreError, ClientError, OSError, ValueError, LookupError) as error:
            said = f"The image {name} cannot be read: {type(error).__name__}: {error}"[:300]
            return Finding(_CHECK, "warn", said, "Allow ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on it.")
        if machine != wanted:
            do = f"Name the digest of the image for {wanted}, or set architecture in cdk.json."
            return Finding(_CHECK, "fail", f"The image {name} is for {machine}, the functions are {wanted}.", do)
        return Finding(_CHECK, "ok", f"Plans begin on Lambda, with an image for {machine}.")

    def _machine(self, name: str, digest: str) -> str:
        """Return the machine that an image is for. A list of images for several is none that Lambda takes."""
        ecr, asked = self._client("ecr"), {"repositoryName": name}
        found = ecr.batch_get_image(**asked, imageIds=[{"imageDigest": digest}], acceptedMediaTypes=list(_TYPES))
        manifest = json.loads(found["images"][0]["imageManifest"])
        if "manifests" in manifest:
            return "several machines"
        layer = manifest["config"]["digest"]
        address = ecr.get_download_url_for_layer(**asked, layerDigest=layer)["downloadUrl"]
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310  # AWS's own answer.
            machine: str = json.load(answer)["architecture"]
        return machine

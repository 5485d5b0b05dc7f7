"""Obstacles for runners that synth cannot detect: Lambda's regions, and an image's architecture."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.deploys.rules.plan_runner import has_tenant_isolation
from tidegate_cli.doctor.result import Result

_CHECK = "plan_runner"
_ON_LAMBDA = "Plans begin on Lambda."
_IMAGE = re.compile(r"([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com/([a-z0-9._/-]+)@(sha256:[0-9a-f]{64})")
_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)
#: What images call the machines of the setting ``architecture``.
_MACHINES = {"arm64": "arm64", "x86_64": "amd64"}
_SECONDS = 10


class PlanRunnerChecks:
    """Looks at where plans begin, and at an image of the installation's own. ``client`` gives the caller's clients."""

    def __init__(self, context: Mapping[str, Any], client: Callable[[str], Any], region: str) -> None:
        self._context, self._client, self._region = context, client, region

    def results(self) -> Iterator[Result]:
        """Yield what was found; nothing where plans run on Fargate with Tidegate's own image."""
        runner = str(self._context.get("plan_runner") or "fargate")
        image = str(self._context.get("runner_image") or "")
        if runner == "fargate":
            if image:
                yield self._image("runner_image", image, "Runners start")
            return
        if not has_tenant_isolation(self._region):
            yield self._without_isolation(runner)
            return
        yield self._image(_CHECK, image, "Plans begin on Lambda") if image else Result(_CHECK, "ok", _ON_LAMBDA)

    def _without_isolation(self, runner: str) -> Result:
        problem = f"Lambda has no tenant isolation in {self._region}, so jobs would not be isolated."
        if runner == "auto":
            return Result(_CHECK, "warn", problem, "No action: plans run on Fargate. Deploy with AWS_REGION set.")
        return Result(_CHECK, "fail", problem, "Set plan_runner to fargate in cdk.json, or use another region.")

    def _image(self, check: str, image: str, then: str) -> Result:
        """Compare the machines that an image is for with the installation's. Only ECR is asked."""
        wanted = _MACHINES.get(str(self._context.get("architecture") or "arm64"), "no known machine")
        where = _IMAGE.fullmatch(image)
        if where is None:
            found = f"{image} is not in ECR: doctor cannot check that it is for {wanted}, as runners need."
            return Result(check, "warn", found, f"Check it: `docker buildx imagetools inspect {image}`.")
        account, _, name, digest = where.groups()
        try:
            machines = self._machines(account, name, digest, is_list_usable=check != _CHECK)
        except (BotoCoreError, ClientError, OSError, ValueError, LookupError, TypeError) as error:
            said = f"The image {name} cannot be read: {type(error).__name__}: {error}"[:300]
            return Result(check, "warn", said, "Allow ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on it.")
        if wanted not in machines:
            do = f"Name the digest of the image for {wanted}, or set architecture in cdk.json."
            found = f"The image {name} is for {', '.join(machines)}, the installation is {wanted}: nothing would start."
            return Result(check, "fail", found, do)
        return Result(check, "ok", f"{then}, with an image for {wanted}.")

    def _machines(self, account: str, name: str, digest: str, *, is_list_usable: bool) -> list[str]:
        """Return the machines that an image is for. Lambda takes no list of images for several, Fargate does."""
        ecr, asked = self._client("ecr"), {"registryId": account, "repositoryName": name}
        found = ecr.batch_get_image(**asked, imageIds=[{"imageDigest": digest}], acceptedMediaTypes=list(_TYPES))
        manifest = json.loads(found["images"][0]["imageManifest"])
        if "manifests" in manifest:
            listed = [str(each["platform"]["architecture"]) for each in manifest["manifests"]]
            return sorted(set(listed)) if is_list_usable else ["several machines"]
        layer = manifest["config"]["digest"]
        address = ecr.get_download_url_for_layer(**asked, layerDigest=layer)["downloadUrl"]
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310  # AWS's own answer.
            return [str(json.load(answer)["architecture"])]

"""Deploys the adapted template into moto and reads back what the local cloud plays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moto.awslambda.utils import get_backend
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy, iam_backends

from tidegate_local.processes.lambdas import Function
from tidegate_local.stack.template import Adapted

_MANAGED = re.compile(r":iam::aws:policy/([\w/+=,.@-]+)")


class StackFailed(Exception):
    """The template could not be deployed into moto."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A synthesized app: the template, and where each asset's files are."""

    directory: Path
    template: Mapping[str, Any]
    assets: Mapping[str, Any]

    @classmethod
    def read(cls, directory: Path, stack: str) -> Assembly:
        """Read a stack of the cloud assembly. Raise FileNotFoundError.

        Definitions of state machines that are files beside the template are put into it: nothing is uploaded here.
        """
        template = json.loads((directory / f"{stack}.template.json").read_text())
        assembly = cls(directory, template, json.loads((directory / f"{stack}.assets.json").read_text()))
        for resource in template["Resources"].values():
            location = resource.get("Properties", {}).pop("DefinitionS3Location", None)
            if location is not None:
                resource["Properties"]["DefinitionString"] = assembly.file(location["Key"]).read_text(encoding="utf-8")
        return assembly

    def file(self, key: str) -> Path:
        """Return an asset's file or directory by its key in the bucket of assets."""
        return self.directory / str(self.assets["files"][key.partition(".")[0]]["source"]["path"])

    def code_of(self, resource: Mapping[str, Any], project: Path) -> tuple[Path, str]:
        """Return the directory and the handler of a function, from its asset or its image's Dockerfile.

        The template's ``Tidegate::Source`` names the directory in the project that the code comes from:
        from there a change takes effect without a new synthesis.
        """
        properties, metadata = resource["Properties"], resource.get("Metadata", {})
        if "Tidegate::Source" in metadata:
            return project / metadata["Tidegate::Source"], _handler(properties)
        code = properties["Code"]
        if "S3Key" in code:
            return self.file(str(code["S3Key"])), str(properties["Handler"])
        text = json.dumps(code["ImageUri"])
        source = next(item["source"] for digest, item in self.assets["dockerImages"].items() if digest in text)
        dockerfile = self.directory / source["directory"] / source.get("dockerFile", "Dockerfile")
        return dockerfile.parent, _handler(properties)


@dataclass(frozen=True, slots=True)
class Deployed:
    """The stack in moto: physical ids by logical id, and the resolved properties of played resources."""

    physical: Mapping[str, str]
    values: Mapping[tuple[str, str], str]
    adapted: Adapted

    def played(self, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Return logical id and properties of the played resources of a type."""
        every = self.adapted.played.items()
        return [(name, resource.get("Properties", {})) for name, resource in every if resource["Type"] == kind]

    def value(self, name: str, wanted: str) -> str:
        """Return a resolved property of a played resource, or an empty string."""
        return self.values.get((name, wanted), "")

    def of_type(self, kind: str) -> dict[str, str]:
        """Return logical and physical ids of the deployed resources of a type."""
        resources = self.adapted.template["Resources"]
        return {name: self.physical[name] for name, resource in resources.items() if resource["Type"] == kind}


def _handler(properties: Mapping[str, Any]) -> str:
    """Return the handler; an image's is its command (by the house's rule the Dockerfile's is the same for all)."""
    command = properties.get("ImageConfig", {}).get("Command") or ["handler.lambda_handler"]
    return str(properties.get("Handler") or command[0])


def deploy(cloudformation: Any, adapted: Adapted, account: str, stack: str) -> Deployed:
    """Deploy the template as the stack of this name, or over the one that is there. Raise StackFailed."""
    text = json.dumps(adapted.template)
    _provide_managed_policies(text, account)
    known = [each["StackName"] for each in cloudformation.list_stacks()["StackSummaries"] if _is_there(each)]
    act = cloudformation.update_stack if stack in known else cloudformation.create_stack
    act(StackName=stack, TemplateBody=text, Capabilities=["CAPABILITY_NAMED_IAM"])
    made = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    if made["StackStatus"] not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
        raise StackFailed(f"{made['StackStatus']}: {made.get('StackStatusReason', '')}")
    resources = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    physical = {item["LogicalResourceId"]: item.get("PhysicalResourceId", "") for item in resources}
    outputs = {item["OutputKey"]: item["OutputValue"] for item in made.get("Outputs", [])}
    values = {place: outputs[key] for key, place in adapted.outputs.items() if key in outputs}
    return Deployed(physical, values, adapted)


def _is_there(summary: Mapping[str, Any]) -> bool:
    return str(summary["StackStatus"]) != "DELETE_COMPLETE"


def _provide_managed_policies(text: str, account: str) -> None:
    """Moto knows AWS's managed policies only if all thousand are loaded: give it those the template names."""
    names = set(_MANAGED.findall(text))
    if not names:
        return
    backend = iam_backends[account]["aws"]
    known = json.loads(aws_managed_policies_data)
    for name, data in known.items():
        if any(item.endswith(name) for item in names):
            policy = AWSManagedPolicy.from_data(name, account, "us-east-1", data)
            backend.managed_policies[policy.arn] = policy


def functions(
    assembly: Assembly, deployed: Deployed, project: Path, account: str, region: str, *, versions: Mapping[str, str]
) -> list[Function]:
    """Return the stack's functions with everything that is needed to run them.

    ``versions`` are the numbers of their newest versions by logical ids, 1 where there is none.
    """
    backend = get_backend(account, region)
    found = []
    for logical, name in deployed.of_type("AWS::Lambda::Function").items():
        properties = assembly.template["Resources"][logical]["Properties"]
        held = backend.get_function(name)
        code, handler = assembly.code_of(assembly.template["Resources"][logical], project)
        group = properties.get("LoggingConfig", {}).get("LogGroup", {})
        found.append(
            Function(
                name=name,
                arn=held.function_arn,
                role=held.role,
                handler=handler,
                code=code,
                environment={key: str(value) for key, value in held.environment_vars.items()},
                timeout=float(held.timeout),
                memory=int(held.memory_size),
                log_group=deployed.physical.get(group.get("Ref", ""), f"/aws/lambda/{name}")
                if isinstance(group, dict)
                else str(group),
                image=properties.get("PackageType") == "Image",
                entry_point=tuple(properties.get("ImageConfig", {}).get("EntryPoint", ())),
                per_tenant="TenancyConfig" in properties,
                version=versions.get(logical, "1"),
            )
        )
    return found

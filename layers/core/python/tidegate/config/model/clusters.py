"""The key ``clusters`` of ``tidegate.yaml``: clusters, each a root of its own."""

from __future__ import annotations

import posixpath
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.clusters.rules.plan import KUBERNETES
from tidegate.config.model.aws import Aws
from tidegate.config.model.clouds import Azure, Google
from tidegate.config.model.roots import EngineChoice, ReviewChoice
from tidegate.config.model.runner import Runner
from tidegate.config.section import Section
from tidegate.config.step_values import Command
from tidegate.config.values import Flag, Tags, as_list, refused, shown
from tidegate.deploys.rules.cluster import (
    ClusterKind,
    ComponentForm,
    ComponentRole,
    DeclaredCluster,
    DeclaredComponent,
    DeclaredHook,
    HookFailure,
    HookPoint,
    ProviderName,
)

#: The word that stands for the whole workflow where a task may be named.
WORKFLOW = "workflow"
MOST_CLUSTERS = 200
_MOST_COMPONENTS, _MOST_HOOKS = 100, 100
#: Seconds that a component may need to become ready, or a hook may run: state machines wait as long for a hook.
_LONGEST = 3000
_PATH = re.compile(r"(?!/)[A-Za-z0-9._/-]{1,300}")
_TASK = re.compile(r"[a-z][a-z0-9-]{0,62}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,62}")
#: As Kubernetes names things (RFC 1123).
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_FUNCTION = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNITS = {"s": 1, "m": 60}
_LABELS = "Use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"


def _path(text: str) -> str:
    if not _PATH.fullmatch(text) or {"", "..", ".git"} & set(text.rstrip("/").split("/")):
        raise refused(
            f"{shown(text)} is not a path",
            "Write a path from the top of the repository, such as clusters/prod.yaml, with letters, digits, '.', '_', "
            "'-' and '/'",
        )
    return posixpath.normpath(text)


def _fitting(pattern: re.Pattern[str], what: str, allowed: str) -> AfterValidator:
    def validate(text: str) -> str:
        if not pattern.fullmatch(text):
            raise refused(f"{shown(text)} is not {what}", allowed)
        return text

    return AfterValidator(validate)


def _seconds(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,3}[sm]", text) or _in_seconds(text) > _LONGEST:
        raise refused(f"{shown(text)} is not a time limit", "Write seconds or minutes, such as 90s or 10m, 50m at most")
    return text


def _in_seconds(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]]


def _component_name(text: str) -> str:
    if text == KUBERNETES:
        raise refused(f"{shown(text)} is what plans and records call the version of Kubernetes", "Use another name")
    return text


_Label = Annotated[str, _fitting(_LABEL, "a valid name", _LABELS)]
_Path = Annotated[str, AfterValidator(_path)]
_Task = Annotated[str, _fitting(_TASK, "a task", f"Write the id of a task, such as install-networking, or {WORKFLOW}")]
_Time = Annotated[str, AfterValidator(_seconds)]


class ComponentSection(Section):
    """One component: exactly one of `manifests`, `kustomization` and `chart`."""

    name: Annotated[
        _Label, AfterValidator(_component_name), Field(description="Its name, which plans, logs and errors show.")
    ]
    role: Annotated[
        ComponentRole,
        Field(
            description="Which task installs it: `networking`, `bootstrap` (on the bootstrap cluster), `management` "
            "(what makes clusters), `workload`, `configuration`, or `package` (once everything else is there)."
        ),
    ]
    manifests: Annotated[_Path | None, Field(description="A file or directory of manifests.")] = None
    kustomization: Annotated[_Path | None, Field(description="A directory with a kustomization.")] = None
    chart: Annotated[_Path | None, Field(description="A directory with a Helm chart.")] = None
    values: Annotated[_Path | None, Field(description="A file of values for the chart.")] = None
    version: Annotated[
        Annotated[str, _fitting(_VERSION, "a version", "Write a version such as 1.16.3")] | None,
        Field(description="Its version, as plans show it. A change of it upgrades the component."),
    ] = None
    namespace: Annotated[
        Annotated[str, _fitting(_LABEL, "a namespace", _LABELS)] | None,
        Field(description="The namespace of objects that name none."),
    ] = None
    ready_within: Annotated[_Time, Field(description="How long it may take to become ready, 50 minutes at most.")] = (
        "10m"
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [name for name in ("manifests", "kustomization", "chart") if getattr(self, name) is not None]
        if len(given) != 1:
            problem = f"has {' and '.join(given)}" if given else "has no content"
            raise refused(f"the component {shown(self.name)} {problem}", "Give one of manifests, kustomization, chart")
        if self.values and not self.chart:
            raise refused(f"the component {shown(self.name)} has values without a chart", "Remove 'values'")
        return self

    @property
    def component(self) -> DeclaredComponent:
        forms = {
            ComponentForm.MANIFESTS: self.manifests,
            ComponentForm.KUSTOMIZATION: self.kustomization,
            ComponentForm.CHART: self.chart,
        }
        form, path = next((form, path) for form, path in forms.items() if path)
        return DeclaredComponent(
            self.name,
            self.role,
            form,
            path,
            self.version or "",
            self.namespace or "",
            self.values or "",
            _in_seconds(self.ready_within),
        )


class HookSection(Section):
    """One hook: exactly one of `before`, `after` and `when`, and one of `run` and `function`."""

    name: Annotated[_Label, Field(description="Its name, which plans, logs and errors show.")]
    before: Annotated[
        _Task | None, Field(description=f"The task before which it runs, or `{WORKFLOW}` for the start.")
    ] = None
    after: Annotated[_Task | None, Field(description=f"The task after which it runs, or `{WORKFLOW}` for the end.")] = (
        None
    )
    when: Annotated[
        Literal["on-error", "always"] | None,
        Field(description="`on-error`: once the workflow has failed. `always`: at its end, whatever became of it."),
    ] = None
    run: Annotated[
        Command | None,
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(description="A program in the runner's image or the repository, and its arguments. There is no shell."),
    ] = None
    function: Annotated[
        Annotated[str, _fitting(_FUNCTION, "a function's name", "Write a name that the installation lists")] | None,
        Field(description="A Lambda function that the installation lists."),
    ] = None
    on_error: Annotated[
        HookFailure, Field(description="Whether its failure fails the workflow (`fail`) or is only shown (`warn`).")
    ] = HookFailure.FAIL
    time_limit: Annotated[_Time, Field(description="How long it may run, 50 minutes at most.")] = "15m"

    @model_validator(mode="after")
    def _one_place_one_program(self) -> Self:
        if sum(each is not None for each in (self.before, self.after, self.when)) != 1:
            raise refused(f"the hook {shown(self.name)} has no position, or several", "Give one of before, after, when")
        if (self.run is None) == (self.function is None):
            raise refused(f"the hook {shown(self.name)} runs nothing, or two things", "Give one of run, function")
        return self

    @property
    def hook(self) -> DeclaredHook:
        points = {HookPoint.BEFORE: self.before, HookPoint.AFTER: self.after}
        point, task = next(
            ((point, task) for point, task in points.items() if task), (HookPoint(self.when or "always"), "")
        )
        return DeclaredHook(
            self.name,
            point,
            "" if task == WORKFLOW else task,
            tuple(self.run or ()),
            self.function or "",
            self.on_error,
            _in_seconds(self.time_limit),
        )


class ClusterSection(Section):
    """One cluster. It is a root: it has a queue, plans, reviews and access like one."""

    name: Annotated[_Label, Field(description="Its name, as a root and as a cluster.")]
    kind: Annotated[
        ClusterKind,
        Field(description="`management`: it has the components that make clusters. `workload`: teams use it."),
    ]
    provider: Annotated[
        ProviderName,
        Field(
            description="What makes it: `terraform` (the root module in the directory of `spec`), `existing` (it is "
            "there, and is adopted), `command` (a program of the repository) or `simulated` (nothing, to try things)."
        ),
    ]
    spec: Annotated[_Path, Field(description="Its file: what it should be like.")]
    management: Annotated[
        _Label | None, Field(description="The management cluster of a workload cluster, in the same file.")
    ] = None
    components: Annotated[
        tuple[ComponentSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[ComponentSection]),
        Field(max_length=_MOST_COMPONENTS, description="What is installed on it, in this order."),
    ] = ()
    hooks: Annotated[
        tuple[HookSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[HookSection]),
        Field(max_length=_MOST_HOOKS, description="What runs around its tasks, in this order."),
    ] = ()
    tags: Annotated[Tags, Field(description="Tags, which tag queries match.")] = ()
    engine: Annotated[
        EngineChoice | None, Field(description="The engine of the provider `terraform`, if different from the file's.")
    ] = None
    plan_review: Annotated[
        ReviewChoice | None, Field(description="Which of its plans need a review. A deletion always needs one.")
    ] = None
    destroy: Annotated[
        Flag | None,
        Field(
            description="Whether to delete the cluster instead of creating or upgrading it. Such a plan always needs a "
            "review. Remove the section once it is deleted."
        ),
    ] = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None

    @property
    def cluster(self) -> DeclaredCluster:
        return DeclaredCluster(
            self.name,
            self.kind,
            self.provider,
            self.spec,
            self.management or "",
            tuple(each.component for each in self.components),
            tuple(each.hook for each in self.hooks),
        )

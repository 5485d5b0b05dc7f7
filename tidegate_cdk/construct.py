"""The construct with all resources of one Tidegate installation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aws_cdk import CfnOutput, Stack, Tags, Token
from constructs import Construct

from tidegate_cdk.acknowledgements import acknowledge_findings
from tidegate_cdk.alarms import Alarms
from tidegate_cdk.architecture import ARCHITECTURES
from tidegate_cdk.asl_state_machine import (
    AslStateMachine,
    MachinesToStart,
    TaskToRun,
    Value,
    machine_arn,
    placeholders_in,
)
from tidegate_cdk.capabilities import GrantContext, PlanFunctionArns, allow
from tidegate_cdk.cluster_machines import BEGINNINGS, ClusterMachines
from tidegate_cdk.dashboard import Dashboard, dashboard_url
from tidegate_cdk.engine_denials import EngineDenials
from tidegate_cdk.function_specs import FUNCTION_OF, SPECS
from tidegate_cdk.functions import Functions
from tidegate_cdk.grants import grant
from tidegate_cdk.http_api import PublicApi
from tidegate_cdk.identity import IdentityKeys
from tidegate_cdk.layers import Layers
from tidegate_cdk.messaging import Messaging
from tidegate_cdk.network import Network
from tidegate_cdk.plan_functions import PlanFunctions
from tidegate_cdk.plan_runner import LAMBDA_STATES, plans_on_lambda
from tidegate_cdk.props import TidegateProps
from tidegate_cdk.runners import Runners
from tidegate_cdk.schedules import Schedules
from tidegate_cdk.settings import read_settings
from tidegate_cdk.site import apply_site_settings
from tidegate_cdk.sources import ROOT
from tidegate_cdk.storage import Storage
from tidegate_cdk.triggers import Triggers

#: The CDK's feature flags for this construct, whatever the app's: the template is the tested one.
FLAGS: Mapping[str, bool] = {
    "@aws-cdk/core:checkSecretUsage": True,
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/aws-iam:standardizedServicePrincipals": True,
    "@aws-cdk/aws-ecs:arnFormatIncludesClusterName": True,
    "@aws-cdk/aws-ec2:restrictDefaultSecurityGroup": False,
    "@aws-cdk/aws-lambda:createNewPoliciesWithAddToRolePolicy": False,
    "@aws-cdk/aws-lambda:useCdkManagedLogGroup": True,
    "@aws-cdk/aws-stepfunctions-tasks:fixRunEcsTaskPolicy": True,
}


def behave_as_tested(construct: Construct) -> None:
    """Set the CDK's feature flags for everything in this construct, which must still be empty."""
    for flag, value in FLAGS.items():
        construct.node.set_context(flag, value)


class Tidegate(Construct):
    """One installation, in any stack of any app. Two of them in an account and region differ in prefix.

    Raises InvalidContext, which names the setting, if one of ``props`` is invalid.
    """

    def __init__(self, scope: Construct, construct_id: str, props: TidegateProps) -> None:
        super().__init__(scope, construct_id)
        behave_as_tested(self)
        self.settings = read_settings(props)
        Tags.of(self).add("tidegate", self.settings.prefix)
        self.plans_on_lambda = self._plans_on_lambda()
        self._make_parts()
        self._grant()
        self._make_machines()
        self._watch()
        self._outputs()
        apply_site_settings(self, self.settings.site, prefix=self.settings.prefix, webhook=self.functions["webhook"])
        acknowledge_findings(self)

    def _plans_on_lambda(self) -> bool:
        region, settings = Stack.of(self).region, self.settings
        known = "" if Token.is_unresolved(region) else region
        return plans_on_lambda(settings.plan_runner, settings.runners, settings.site, known)

    def _make_parts(self) -> None:
        settings = self.settings
        self.storage = Storage(self, "Storage")
        self.identity = IdentityKeys(self, "Identity", names=settings.identity.keys, prefix=settings.prefix)
        self.messaging = Messaging(
            self,
            "Messaging",
            prefix=settings.prefix,
            alarm_email=settings.alarm_email,
            destinations=settings.destinations,
        )
        self.network = Network(self, "Network", settings.site, prefix=settings.prefix)
        self.runners = Runners(
            self,
            "Runners",
            settings=settings,
            storage=self.storage,
            network=self.network,
            terraform_machine=self._name("terraform"),
            speculating_machines=(self._name("pull-request"), self._name("drift")),
            config_update_machine=self._name("config-update"),
            cluster_task_machine=self._name("cluster-task"),
            plans_on_lambda=self.plans_on_lambda,
        )
        self.schedules = Schedules(
            self,
            "Schedules",
            name=self._name("drift"),
            machine=self._name("drift"),
            undelivered=self.messaging.undelivered,
        )
        layers = Layers(self, "Layers", ARCHITECTURES[settings.architecture], prefix=settings.prefix)
        self.functions = Functions(self, "Functions", layers=layers, undelivered=self.messaging.undelivered).by_name
        self.plan_functions = self._make_plan_functions() if self.plans_on_lambda else None
        self.api = PublicApi(
            self,
            "WebhookApi",
            name=settings.prefix,
            forge=settings.forge,
            functions=self.functions,
            site=settings.site,
        )
        EngineDenials(
            self,
            "EngineDenials",
            settings=settings,
            roles=self.runners.engine_roles.values(),
            bucket_arn=self.storage.bucket.bucket_arn,
            api=self.api.api,
            keys=self.identity.arns,
        )

    def _make_plan_functions(self) -> PlanFunctions:
        return PlanFunctions(
            self,
            "PlanFunctions",
            settings=self.settings,
            runners=self.runners,
            network=self.network,
            bus=self.messaging.bus,
        )

    def _make_machines(self) -> None:
        self.terraform = self._machine("Terraform", self._terraform_values())
        self.deploy = self._machine("Deploy", self._deploy_values())
        plans = {"Plan all that it changes": int(self.settings.pull_request_plans)}
        self.pull_request = self._machine(
            "PullRequest", {**self._speculating_values(), **self._speculation_on_lambda()}, plans
        )
        self.drift = self._machine("Drift", self._speculating_values())
        replays = {
            "ReplayTaskDefinition": TaskToRun(self.runners.replay, self.runners.cluster),
            **self._place_of_runners(),
        }
        self.config_update = self._machine("ConfigUpdate", replays)
        self.promotion = self._machine("Promotion", {})
        self._make_cluster_machines()

    def _make_cluster_machines(self) -> None:
        functions = self.settings.clusters.functions
        task: dict[str, Value] = {
            "ClusterTaskDefinition": TaskToRun(self.runners.task, self.runners.cluster),
            "TerraformStateMachine": self.terraform,
            **self._place_of_runners(),
        }
        self.cluster_task = self._machine("ClusterTask", task)
        for function in functions:
            self.cluster_task.role.add_to_policy(allow("lambda:InvokeFunction", on=function))
        children = {"ClusterTaskStateMachine": self.cluster_task}
        self.cluster_error = self._machine("ClusterError", children)
        self.cluster_machines = ClusterMachines(
            self,
            "ClusterWorkflows",
            prefix=self.settings.prefix,
            settings=self.settings.clusters,
            values={
                "StepsFunction": self.functions["steps"],
                **children,
                "ClusterErrorStateMachine": self.cluster_error,
            },
        )

    def _watch(self) -> None:
        triggers = Triggers(
            self,
            "Triggers",
            functions=self.functions,
            messaging=self.messaging,
            # A newer commit stops a pull request's execution, which is no failure. After a drift execution, the next
            # one finds what it left.
            machines=(self.deploy, self.terraform, self.config_update, self.promotion, self.cluster_error),
            beginnings=tuple(machine_arn(self, self._name(each)) for each in BEGINNINGS),
            runners=self.runners,
            plans_on_lambda=self.plans_on_lambda,
        )
        settings, machines = self.settings, self.machines
        alarms = Alarms(
            self,
            "Alarms",
            prefix=settings.prefix,
            functions=self.functions,
            messaging=self.messaging,
            machines=machines,
            docs=settings.docs_url,
            dashboard=dashboard_url(Stack.of(self), settings.prefix) if settings.dashboard else "",
        )
        if settings.dashboard:
            Dashboard(
                self,
                "Dashboard",
                settings=settings,
                alarms=alarms.all,
                messaging=self.messaging,
                functions=self.functions,
                machines=machines,
                api=self.api.api,
                runner_stopped=triggers.runner_stopped,
            )

    @property
    def machines(self) -> tuple[AslStateMachine, ...]:
        """The state machines that alarms watch.

        The failure of a cluster's task is an expected end; where its workflow fails, or what handles its error, the
        deployment's outcome is unknown, for which there is an alarm.
        """
        return (
            self.deploy,
            self.terraform,
            self.pull_request,
            self.drift,
            self.config_update,
            self.promotion,
        )

    def _name(self, machine: str) -> str:
        return f"{self.settings.prefix}-{machine}"

    def _grant(self) -> None:
        if self.settings.release:
            of_plans = self.plan_functions.all if self.plan_functions else ()
            for function in (*self.functions.values(), *of_plans):
                function.add_environment("TIDEGATE_RELEASE", self.settings.release)
        for spec in SPECS:
            for capability in spec.capabilities:
                grant(self.functions[spec.name], capability, self.grant_context)
        self.identity.only_for(self.functions[FUNCTION_OF["dispatch_job"]])

    @property
    def grant_context(self) -> GrantContext:
        """The resources of capabilities."""
        functions = self.plan_functions
        return GrantContext(
            stack=Stack.of(self),
            settings=self.settings,
            storage=self.storage,
            messaging=self.messaging,
            deploy_machine=self._name("deploy"),
            terraform_machine=self._name("terraform"),
            pull_request_machine=self._name("pull-request"),
            drift_machine=self._name("drift"),
            config_update_machine=self._name("config-update"),
            promotion_machine=self._name("promotion"),
            schedules=self.schedules,
            cluster=self.runners.cluster,
            plan_functions=PlanFunctionArns(tuple(functions.versions), self.settings.plan_runner.size)
            if functions
            else None,
            web_url=self.settings.web_url or self.api.address,
            webhook_url=self.api.url,
            identity=self.identity,
        )

    def _machine(
        self, construct_id: str, values: Mapping[str, Value], at_once: Mapping[str, int] | None = None
    ) -> AslStateMachine:
        words = re.findall("[A-Z][a-z]+", construct_id)
        file = ROOT / "stepfunctions" / f"{'_'.join(words).lower()}.asl.yaml"
        name, called = self._name("-".join(words).lower()), placeholders_in(file)
        functions = {spec.id: self.functions[spec.name] for spec in SPECS if spec.id in called}
        without = () if self.plans_on_lambda else LAMBDA_STATES
        return AslStateMachine(
            self,
            construct_id,
            file=file,
            name=name,
            values={**functions, **values},
            at_once=at_once,
            without=without,
        )

    def _deploy_values(self) -> dict[str, Value]:
        return {"TerraformStateMachine": self.terraform}

    def _terraform_values(self) -> dict[str, Value]:
        return {
            "PlanTaskDefinition": TaskToRun(self.runners.plan, self.runners.cluster),
            "ApplyTaskDefinition": TaskToRun(self.runners.apply, self.runners.cluster),
            "ClusterMachines": MachinesToStart(
                machine_arn(self, self._name("")), tuple(f"{self._name(each)}*" for each in BEGINNINGS)
            ),
            **({"PlanLambda": self.plan_functions.plan.current_version.function_arn} if self.plan_functions else {}),
            **self._place_of_runners(),
        }

    def _speculation_on_lambda(self) -> dict[str, Value]:
        functions = self.plan_functions
        return {"SpeculateLambda": functions.speculate.current_version.function_arn} if functions else {}

    def _speculating_values(self) -> dict[str, Value]:
        return {
            "SpeculateTaskDefinition": TaskToRun(self.runners.speculate, self.runners.cluster),
            **self._place_of_runners(),
        }

    def _place_of_runners(self) -> dict[str, Value]:
        return {
            "Cluster": self.runners.cluster.cluster_arn,
            "Subnets": ",".join(self.network.subnets),
            "RunnerSecurityGroup": self.network.security_group.security_group_id,
            "AssignPublicIp": self.network.assigns_public_ip,
        }

    def _outputs(self) -> None:
        for name, value in {
            "WebhookUrl": self.api.url,
            "ApiUrl": self.api.address,
            "ForgeUrl": self.settings.forge_url,
            "ForgeApiUrl": self.settings.forge_api_url,
            "WebhookSecretName": self.settings.webhook_secret_name,
            "AppSecretName": self.settings.app_secret_name,
            "TableName": self.storage.table.table_name,
            "ArtifactBucket": self.storage.bucket.bucket_name,
            "DeployStateMachine": self.deploy.machine.state_machine_arn,
            "TerraformStateMachine": self.terraform.machine.state_machine_arn,
            "PullRequestStateMachine": self.pull_request.machine.state_machine_arn,
            "DriftStateMachine": self.drift.machine.state_machine_arn,
            "ConfigUpdateStateMachine": self.config_update.machine.state_machine_arn,
            "PromotionStateMachine": self.promotion.machine.state_machine_arn,
            "AuditTopic": self.messaging.audit.topic_arn,
            "AlarmTopic": self.messaging.alarm.topic_arn,
            "EventBus": self.messaging.bus.event_bus_name,
            "Cluster": self.runners.cluster.cluster_arn,
            "RunnerLogGroup": self.runners.log_group.log_group_name,
            "PlanEngineRole": self.runners.engine_roles["plan"].role_arn,
            "ApplyEngineRole": self.runners.engine_roles["apply"].role_arn,
            "PullRequestEngineRole": self.runners.engine_roles["speculate"].role_arn,
            "PlanRunnerRole": self.runners.task_roles["plan"].role_arn,
            "ApplyRunnerRole": self.runners.task_roles["apply"].role_arn,
            "PullRequestRunnerRole": self.runners.task_roles["speculate"].role_arn,
            "ReplayRunnerRole": self.runners.task_roles["replay"].role_arn,
        }.items():
            CfnOutput(self, name, value=value)
        if self.identity.keys:
            CfnOutput(self, "Issuer", value=self.settings.web_url or self.api.address)
            CfnOutput(self, "IdentityKeys", value=",".join(self.identity.arns))
        if domain := self.api.domain:
            CfnOutput(self, "DomainTarget", value=domain.regional_domain_name)

"""The stack of ``make deploy``: one installation, and nothing else."""

from __future__ import annotations

from aws_cdk import DefaultStackSynthesizer, Stack, Tags
from constructs import Construct

from tidegate_cdk.construct import Tidegate, behave_as_tested
from tidegate_cdk.props import TidegateProps


class TidegateStack(Stack):
    """One installation in its own stack, with termination protection."""

    def __init__(self, scope: Construct, construct_id: str, props: TidegateProps) -> None:
        # The rule and parameter that check the bootstrap version are left out: the CDK command line checks it too.
        super().__init__(
            scope,
            construct_id,
            description="Tidegate: GitOps for Terraform and OpenTofu",
            synthesizer=DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
            termination_protection=True,
        )
        behave_as_tested(self)
        # The CDK leaves this id out of the names of resources and outputs.
        self.tidegate = Tidegate(self, "Default", props)
        Tags.of(self).add("tidegate", self.tidegate.settings.prefix)

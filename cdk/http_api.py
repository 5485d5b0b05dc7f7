"""The address that the forge posts its webhooks to."""

from __future__ import annotations

import json

from aws_cdk import RemovalPolicy
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

#: Requests a second on average and at once: far above what an organization pushes, far below what costs much.
_RATE, _BURST = 50, 200
_ACCESS_LOG = {
    "requestId": "$context.requestId",
    "time": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "route": "$context.routeKey",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "milliseconds": "$context.responseLatency",
    "error": "$context.integrationErrorMessage",
}


class WebhookApi(Construct):
    """One route; the function behind it verifies every request."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, webhook: lambda_.Function) -> None:
        super().__init__(scope, construct_id)
        self.api = apigateway.HttpApi(self, "Api", api_name=name, create_default_stage=False)
        log_group = logs.LogGroup(
            self, "AccessLog", retention=logs.RetentionDays.THREE_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=_RATE, burst_limit=_BURST),
        )
        stage = self.node.find_child("Stage").node.default_child
        assert isinstance(stage, apigateway.CfnStage)  # noqa: S101  # For the type checker.
        stage.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log_group.log_group_arn, format=json.dumps(_ACCESS_LOG)
        )
        self.api.add_routes(
            path="/webhooks/github",
            methods=[apigateway.HttpMethod.POST],
            integration=HttpLambdaIntegration("Webhook", webhook),
        )

    @property
    def url(self) -> str:
        """The webhook's address."""
        return f"{self.api.api_endpoint}/webhooks/github"

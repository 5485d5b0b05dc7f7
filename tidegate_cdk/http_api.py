"""The public HTTP API: for webhooks, programs and browsers."""

from __future__ import annotations

import json
from collections.abc import Mapping

from aws_cdk import RemovalPolicy
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from tidegate_cdk.site_settings import SiteSettings

#: Requests a second on average and in bursts, for each route, so that neither can starve the other. Webhooks: far above
#: an organization's pushes, far below a high cost. Everything else: a page that follows a log polls two to three times
#: a second, so this is enough for some thirty viewers.
_WEBHOOKS, _WEBHOOKS_AT_ONCE = 50, 200
_REST, _REST_AT_ONCE = 100, 200
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


class PublicApi(Construct):
    """Two routes: webhooks, and everything else. The functions behind them verify every request."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        forge: str,
        functions: Mapping[str, lambda_.Function],
        site: SiteSettings,
    ) -> None:
        super().__init__(scope, construct_id)
        self._webhook_path, self._domain_name = f"/webhooks/{forge}", site.domain
        self.api = apigateway.HttpApi(
            self,
            "Api",
            api_name=name,
            create_default_stage=False,
            disable_execute_api_endpoint=None if site.has_own_endpoint else True,
        )
        log_group = logs.LogGroup(
            self,
            "AccessLog",
            # AWS log deliveries to groups of other names use space in an account-wide policy, which may be full.
            log_group_name=f"/aws/vendedlogs/http-api/{name}",
            retention=logs.RetentionDays.THREE_MONTHS,
            removal_policy=RemovalPolicy.DESTROY,
        )
        default = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=_REST, burst_limit=_REST_AT_ONCE),
        )
        self.domain = _domain(self, site, self.api, default) if site.domain else None
        stage = default.node.default_child
        assert isinstance(stage, apigateway.CfnStage)  # noqa: S101  # For the type checker.
        stage.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log_group.log_group_arn, format=json.dumps(_ACCESS_LOG)
        )
        (webhooks,) = self.api.add_routes(
            path=self._webhook_path,
            methods=[apigateway.HttpMethod.POST],
            integration=HttpLambdaIntegration("Webhook", functions["webhook"]),
        )
        apigateway.HttpRoute(
            self,
            "Rest",
            http_api=self.api,
            route_key=apigateway.HttpRouteKey.DEFAULT,
            integration=HttpLambdaIntegration("Web", functions["api"]),
        )
        # Raw: the construct has no settings for one route. CloudFormation requires the route first.
        stage.route_settings = {
            f"POST {self._webhook_path}": {"ThrottlingRateLimit": _WEBHOOKS, "ThrottlingBurstLimit": _WEBHOOKS_AT_ONCE}
        }
        stage.node.add_dependency(webhooks)

    @property
    def address(self) -> str:
        """Its base URL: the installation's own domain, or the API's own address."""
        return f"https://{self._domain_name}" if self._domain_name else self.api.api_endpoint

    @property
    def url(self) -> str:
        """The webhook's address."""
        return f"{self.address}{self._webhook_path}"


def _domain(
    scope: Construct, site: SiteSettings, api: apigateway.HttpApi, stage: apigateway.HttpStage
) -> apigateway.DomainName:
    """Add a custom domain. The certificate must be in the API's own region, as HTTP APIs are regional only."""
    domain = apigateway.DomainName(
        scope,
        "Domain",
        domain_name=site.domain,
        certificate=acm.Certificate.from_certificate_arn(scope, "Certificate", site.certificate),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
    )
    apigateway.ApiMapping(scope, "Mapping", api=api, domain_name=domain, stage=stage)
    if site.zone:
        target = targets.ApiGatewayv2DomainProperties(domain.regional_domain_name, domain.regional_hosted_zone_id)
        zone = route53.HostedZone.from_hosted_zone_attributes(
            scope, "Zone", hosted_zone_id=site.zone, zone_name=site.domain
        )
        # The trailing dot makes the name absolute, whatever the zone is called.
        name = f"{site.domain}."
        route53.ARecord(scope, "Record", zone=zone, record_name=name, target=route53.RecordTarget.from_alias(target))
    return domain

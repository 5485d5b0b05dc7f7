"""AWS calls that the local cloud answers itself: Lambda's Invoke and the ECS task calls."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from moto.ecs.exceptions import ECSException

from tidegate_local.aws.gateway import Gateway, Response, json_response
from tidegate_local.aws.refusals import Refusal, render
from tidegate_local.aws.requests import Call
from tidegate_local.processes.lambdas import REQUEST_LIMIT, Function, Lambdas
from tidegate_local.processes.tasks import Tasks
from tidegate_local.services.async_invokes import AsyncInvokes

_EVENT_LIMIT = 1024 * 1024
_OVERRIDES_LIMIT = 8192
#: Of TenantId (botocore's model of Lambda).
_TENANT = re.compile(r"[a-zA-Z0-9._:/=+\-@ ]{1,256}")


def connect(gateway: Gateway, lambdas: Lambdas, later: AsyncInvokes, tasks: Tasks) -> None:
    """Let the gateway send these calls to the runners."""
    gateway.handle("lambda:Invoke", _invoke(lambdas, later))
    gateway.handle("ecs:RunTask", _run_task(tasks))
    for name, method in (("DescribeTasks", tasks.describe), ("ListTasks", tasks.listed), ("StopTask", tasks.stop)):
        gateway.handle(f"ecs:{name}", _task_call(method))


def _invoke(lambdas: Lambdas, later: AsyncInvokes) -> Callable[[Call, bytes, Mapping[str, Any]], Response]:
    def handle(call: Call, body: bytes, environ: Mapping[str, Any]) -> Response:
        name = str(call.parameters["FunctionName"])
        background = environ.get("HTTP_X_AMZ_INVOCATION_TYPE") == "Event"
        if len(body) > (_EVENT_LIMIT if background else REQUEST_LIMIT):
            return render(Refusal("RequestEntityTooLargeException", "Request must be smaller.", 413), call)
        tenant = environ.get("HTTP_X_AMZ_TENANT_ID")
        try:
            if problem := _tenancy_problem(lambdas.find(name), tenant):
                return render(Refusal("InvalidParameterValueException", problem, 400), call)
            if background:
                later.submit(name, body or b"{}")
                return _lambda_response(202, b"", None)
            result = lambdas.invoke(name, body or b"{}")
        except KeyError:
            return render(Refusal("ResourceNotFoundException", f"Function not found: {name}", 404), call)
        return _lambda_response(200, result.payload, result.error)

    return handle


def _tenancy_problem(function: Function, tenant: str | None) -> str:
    """Return what Lambda says to a call of a function that isolates tenants without one, and the other way round."""
    if function.per_tenant and not (tenant and _TENANT.fullmatch(tenant)):
        return "The invoked function is enabled with tenancy configuration. Add a valid tenant ID in your request."
    if tenant and not function.per_tenant:
        return "The invoked function is not enabled with tenancy configuration. Remove the tenant ID from your request."
    return ""


def _lambda_response(status: int, payload: bytes, error: str | None) -> Response:
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(payload))),
        ("x-amzn-RequestId", str(uuid.uuid4())),
        ("X-Amz-Executed-Version", "$LATEST"),
    ]
    if error is not None:
        headers.append(("X-Amz-Function-Error", error))
    return Response(f"{status} OK", headers, payload)


def _run_task(tasks: Tasks) -> Callable[[Call, bytes, Mapping[str, Any]], Response]:
    def handle(call: Call, _body: bytes, _environ: Mapping[str, Any]) -> Response:
        overrides = call.parameters.get("overrides", {})
        if len(json.dumps(overrides, separators=(",", ":"))) > _OVERRIDES_LIMIT:
            text = f"Container Overrides length must be at most {_OVERRIDES_LIMIT}"
            return render(Refusal("InvalidParameterException", text, 400), call)
        if not call.parameters.get("networkConfiguration", {}).get("awsvpcConfiguration", {}).get("subnets"):
            text = "Network Configuration must be provided when networkMode 'awsvpc' is specified."
            return render(Refusal("InvalidParameterException", text, 400), call)
        try:
            return json_response(tasks.run(call.parameters))
        except ECSException:
            return render(Refusal("ClientException", "TaskDefinition not found.", 400), call)

    return handle


def _task_call(
    method: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> Callable[[Call, bytes, Mapping[str, Any]], Response]:
    def handle(call: Call, _body: bytes, _environ: Mapping[str, Any]) -> Response:
        try:
            return json_response(method(call.parameters))
        except KeyError:
            return render(Refusal("InvalidParameterException", "The referenced task was not found.", 400), call)

    return handle

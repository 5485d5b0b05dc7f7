"""The permissions that a call needs: IAM actions, resource ARNs and condition keys of each API call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moto.dynamodb.models import dynamodb_backends
from moto.ecs.models import ecs_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.stepfunctions.parser.models import stepfunctions_parser_backends

from tidegate_local.aws.iam import Check
from tidegate_local.aws.requests import Call
from tidegate_local.moto.states_shims import token_owners

_S3_ACTIONS = {
    "HeadObject": "GetObject",
    "GetObjectAttributes": "GetObject",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "HeadBucket": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
    "ListBuckets": "ListAllMyBuckets",
    "CopyObject": "PutObject",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "UploadPartCopy": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "DeleteObjects": "DeleteObject",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
}
_SQS_ACTIONS = {
    "SendMessageBatch": "SendMessage",
    "DeleteMessageBatch": "DeleteMessage",
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}
_TRANSACTION_ACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_SNS_ACTIONS = {"PublishBatch": "Publish"}
_FIRST_KEY = re.compile(r"\(?\s*([#\w.]+)\s*=\s*(:\w+)")


class Needs:
    """Tells the permissions that a call needs in one account."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._readers: dict[str, Callable[[Call], Iterable[Check]]] = {
            "dynamodb": self._dynamodb,
            "sqs": self._sqs,
            "sns": self._sns,
            "states": self._states,
            "lambda": self._lambda,
            "ecs": self._ecs,
            "s3": self._s3,
            "events": self._events,
            "secretsmanager": self._secrets,
            "logs": self._logs,
            "scheduler": self._scheduler,
            "sts": self._sts,
            "kms": self._kms,
            "monitoring": self._metrics,
            "cloudwatch": self._metrics,
        }

    def of(self, call: Call) -> list[Check]:
        """Return the checks, all of which must pass."""
        reader = self._readers.get(call.service)
        return list(reader(call)) if reader else [Check(call.name)]

    def _arn(self, service: str, region: str, resource: str) -> str:
        return resource if resource.startswith("arn:") else f"arn:aws:{service}:{region}:{self._account}:{resource}"

    def _dynamodb(self, call: Call) -> Iterable[Check]:
        parameters = call.parameters
        if call.action in {"TransactWriteItems", "TransactGetItems"}:
            for item in parameters.get("TransactItems", []):
                for kind, request in item.items():
                    yield self._item_check(call.region, _TRANSACTION_ACTIONS.get(kind, "GetItem"), request)
        elif call.action in {"BatchGetItem", "BatchWriteItem"}:
            for table, requests in parameters.get("RequestItems", {}).items():
                keys = (
                    requests.get("Keys", []) if isinstance(requests, Mapping) else [_written(item) for item in requests]
                )
                yield self._check(
                    call.region, call.action, table, None, [str(self._leading(call.region, table, key)) for key in keys]
                )
        elif "TableName" in parameters:
            yield self._item_check(call.region, call.action, parameters)
        else:
            yield Check(call.name)

    def _item_check(self, region: str, action: str, request: Mapping[str, Any]) -> Check:
        table = str(request["TableName"])
        if action == "Query":
            found = self._queried_key(request)
            return self._check(region, action, table, request.get("IndexName"), [found] if found is not None else None)
        item = request.get("Key") or request.get("Item")
        leading = self._leading(region, table, item) if item else None
        return self._check(region, action, table, request.get("IndexName"), None if leading is None else [leading])

    def _check(self, region: str, action: str, table: str, index: Any, leading: list[str] | None) -> Check:
        arn = self._arn("dynamodb", region, table if table.startswith("arn:") else f"table/{table}")
        context = {} if leading is None else {"dynamodb:LeadingKeys": leading}
        return Check(f"dynamodb:{action}", (f"{arn}/index/{index}" if index else arn,), context)

    def _leading(self, region: str, table: str, item: Mapping[str, Any]) -> str | None:
        held = dynamodb_backends[self._account][region].tables.get(table.rpartition("/")[2])
        value = item.get(held.hash_key_attr) if held else None
        return str(next(iter(value.values()))) if isinstance(value, Mapping) else None

    @staticmethod
    def _queried_key(request: Mapping[str, Any]) -> str | None:
        found = _FIRST_KEY.search(str(request.get("KeyConditionExpression", "")))
        value = request.get("ExpressionAttributeValues", {}).get(found.group(2)) if found else None
        return str(next(iter(value.values()))) if isinstance(value, Mapping) else None

    def _sqs(self, call: Call) -> Iterable[Check]:
        action = _SQS_ACTIONS.get(call.action, call.action)
        name = str(call.parameters.get("QueueUrl", "") or call.parameters.get("QueueName", "")).rpartition("/")[2]
        yield Check(f"sqs:{action}", (self._arn("sqs", call.region, name) if name else "*",))

    def _sns(self, call: Call) -> Iterable[Check]:
        action = _SNS_ACTIONS.get(call.action, call.action)
        arn = str(call.parameters.get("TopicArn") or call.parameters.get("TargetArn") or "*")
        yield Check(f"sns:{action}", (arn,))

    def _states(self, call: Call) -> Iterable[Check]:
        parameters = call.parameters
        if "taskToken" in parameters:
            backend = stepfunctions_parser_backends[self._account][call.region]
            yield Check(call.name, token_owners(backend, str(parameters["taskToken"])) or ("",))
            return
        yield Check(call.name, (str(parameters.get("stateMachineArn") or parameters.get("executionArn") or "*"),))

    def _lambda(self, call: Call) -> Iterable[Check]:
        name = str(call.parameters.get("FunctionName", ""))
        action = "InvokeFunction" if call.action == "Invoke" else call.action
        resource = name if name.startswith("arn:") or not name else self._arn("lambda", call.region, f"function:{name}")
        yield Check(f"lambda:{action}", (resource or "*",))

    def _ecs(self, call: Call) -> Iterable[Check]:
        parameters = call.parameters
        cluster = self._arn(
            "ecs", call.region, f"cluster/{parameters.get('cluster', 'default')}".replace("cluster/arn", "arn")
        )
        if call.action == "RunTask":
            yield from self._run_task(call, cluster)
            return
        tasks = parameters.get("tasks") or [parameters["task"]] if "tasks" in parameters or "task" in parameters else []
        name = cluster.rpartition("/")[2]
        arns = tuple(
            self._arn("ecs", call.region, task if task.startswith("arn:") else f"task/{name}/{task}") for task in tasks
        )
        yield Check(call.name, arns or ("*",), {"ecs:cluster": [cluster]})

    def _run_task(self, call: Call, cluster: str) -> Iterable[Check]:
        wanted = str(call.parameters.get("taskDefinition", ""))
        backend = ecs_backends[self._account][call.region]
        definition = backend.describe_task_definition(wanted)
        yield Check("ecs:RunTask", (str(definition.arn),), {"ecs:cluster": [cluster]})
        roles = tuple(arn for arn in (definition.task_role_arn, definition.execution_role_arn) if arn)
        yield Check("iam:PassRole", roles, {"iam:PassedToService": ["ecs-tasks.amazonaws.com"]})
        if call.parameters.get("tags") or call.parameters.get("propagateTags"):
            tasks = f"{cluster.replace(':cluster/', ':task/')}/*"
            yield Check("ecs:TagResource", (tasks,), {"ecs:CreateAction": ["RunTask"]})

    def _s3(self, call: Call) -> Iterable[Check]:
        bucket, key = call.parameters.get("Bucket"), call.parameters.get("Key")
        action = _S3_ACTIONS.get(call.action, call.action)
        if not bucket:
            yield Check(f"s3:{action}")
            return
        arn = f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}"
        keys = [f"arn:aws:s3:::{bucket}/{each}" for each in call.parameters.get("Keys", ())]
        prefix = call.parameters.get("prefix")
        yield Check(f"s3:{action}", tuple(keys) or (arn,), {} if prefix is None else {"s3:prefix": [str(prefix)]})

    def _events(self, call: Call) -> Iterable[Check]:
        if call.action != "PutEvents":
            yield Check(call.name, ("",))
            return
        for entry in call.parameters.get("Entries", []):
            bus = str(entry.get("EventBusName", "default"))
            arn = bus if bus.startswith("arn:") else self._arn("events", call.region, f"event-bus/{bus}")
            context = {
                "events:source": [str(entry.get("Source"))],
                "events:detail-type": [str(entry.get("DetailType"))],
            }
            yield Check("events:PutEvents", (arn,), context)

    def _secrets(self, call: Call) -> Iterable[Check]:
        wanted = str(call.parameters.get("SecretId", "") or call.parameters.get("Name", ""))
        held = secretsmanager_backends[self._account][call.region].secrets.get(wanted)
        arn = str(held.arn) if held else self._arn("secretsmanager", call.region, f"secret:{wanted}-??????")
        yield Check(call.name, (arn if wanted else "*",))

    def _logs(self, call: Call) -> Iterable[Check]:
        group, stream = call.parameters.get("logGroupName"), call.parameters.get("logStreamName")
        tail = f":log-stream:{stream}" if stream else ":*"
        yield Check(call.name, (self._arn("logs", call.region, f"log-group:{group}{tail}") if group else "*",))

    def _scheduler(self, call: Call) -> Iterable[Check]:
        group, name = call.parameters.get("GroupName") or call.parameters.get("groupName"), call.parameters.get("Name")
        if not name:
            yield Check(call.name)
            return
        yield Check(call.name, (self._arn("scheduler", call.region, f"schedule/{group or 'default'}/{name}"),))
        role = call.parameters.get("Target", {}).get("RoleArn")
        if role:
            yield Check("iam:PassRole", (str(role),), {"iam:PassedToService": ["scheduler.amazonaws.com"]})

    def _sts(self, call: Call) -> Iterable[Check]:
        # GetCallerIdentity needs no permission at all.
        if call.action != "GetCallerIdentity":
            yield Check(call.name, (str(call.parameters.get("RoleArn", "*")),))

    def _kms(self, call: Call) -> Iterable[Check]:
        key = str(call.parameters.get("KeyId", ""))
        algorithm = call.parameters.get("SigningAlgorithm")
        context = {"kms:SigningAlgorithm": [str(algorithm)]} if algorithm else {}
        named = key if key.startswith("arn:") or not key else f"key/{key}"
        yield Check(call.name, (self._arn("kms", call.region, named) if named else "*",), context)

    @staticmethod
    def _metrics(call: Call) -> Iterable[Check]:
        namespace = call.parameters.get("Namespace") or call.parameters.get("namespace")
        yield Check(
            f"cloudwatch:{call.action}", ("*",), {"cloudwatch:namespace": [str(namespace)]} if namespace else {}
        )


def _written(request: Mapping[str, Any]) -> Mapping[str, Any]:
    put: Mapping[str, Any] | None = request.get("PutRequest", {}).get("Item")
    return put or request.get("DeleteRequest", {}).get("Key", {})

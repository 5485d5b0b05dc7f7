"""Corrections of the Step Functions interpreter in moto 5.2.5 (part of shims.py)."""

# ruff: noqa: SLF001, ARG001 - replacements have the signatures of what they replace.
# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type,call-arg,typeddict-item"
# mypy: disable-error-code="no-any-return,no-untyped-call,union-attr,misc"
from __future__ import annotations

import base64
import contextlib
import copy
import datetime as dt
import json
import secrets
import threading
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError
from moto.core.exceptions import AWSError
from moto.core.responses import EmptyResult
from moto.stepfunctions import models as sfn_models
from moto.stepfunctions.models import StepFunctionBackend
from moto.stepfunctions.parser import models as parser_models
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails, TaskTimedOutEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import EvalTimeoutError
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import iteration_worker
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel import branches_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_aws_sdk,
    state_task_service_callback,
    state_task_service_ecs,
    state_task_service_sfn,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.eval.callback.callback import (
    CallbackConsumerTimeout,
    CallbackEndpoint,
    CallbackPoolManager,
    HeartbeatEndpoint,
    HeartbeatTimeoutError,
)
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.states import ContextObject
from moto.stepfunctions.responses import StepFunctionResponse

from tidegate_local.moto import execution_shims, jsonata_shim
from tidegate_local.moto.hub import HUB


def install() -> None:
    """Put everything in place."""
    jsonata_shim.install()
    execution_shims.install()
    for shim in (
        _one_backend,
        _case_conversion,
        _clients_of_the_state_machines_role,
        _prompt_sync,
        _stop_children,
        _closed_tokens,
        _long_tokens,
        _token_of_each_attempt,
        _early_answers,
        _missed_heartbeats,
        _task_failure_cause,
        _run_task,
        _error_names,
        _errors_of_items,
        _items_in_frames,
    ):
        shim()


def _one_backend() -> None:
    """CloudFormation puts state machines into the backend that does not execute, where nothing else looks."""
    sfn_models.stepfunctions_backends = parser_models.stepfunctions_parser_backends


def _items_in_frames() -> None:
    """Each state of a Map's item knows the item's number; moto loses it in the frame that a state is evaluated in."""
    original = Environment.as_inner_frame_of.__func__

    def as_inner_frame_of(cls: Any, env: Any, *given: Any, **named: Any) -> Any:
        frame = original(cls, env, *given, **named)
        if "Map" in (around := env.states.context_object.context_object_data):
            frame.states.context_object.context_object_data["Map"] = copy.deepcopy(around["Map"])
        return frame

    Environment.as_inner_frame_of = classmethod(as_inner_frame_of)


def _case_conversion() -> None:
    """Parameters and results of service integrations keep their case in moto (the two methods are empty).

    LocalStack's original converts between the state machine's PascalCase and the service's own names.
    Time stamps become epoch milliseconds, as AWS gives them; datetimes would fail in the next state.
    """

    def operation(task: Any, service: str | None, action: str | None) -> Any:
        client = HUB.client("", "", task._get_boto_service_name(service))
        wanted = xform_name(action or task.resource.api_action)
        return client.meta.service_model.operation_model(client.meta.method_to_api_mapping[wanted])

    def parameters(
        self: Any, parameters: dict[str, Any], boto_service_name: Any = None, service_action_name: Any = None
    ) -> None:
        shape = operation(self, boto_service_name, service_action_name).input_shape
        if shape is not None:
            self._to_boto_request(parameters, shape)

    def response(self: Any, response: Any, boto_service_name: Any = None, service_action_name: Any = None) -> None:
        shape = operation(self, boto_service_name, service_action_name).output_shape
        if shape is not None:
            self._from_boto_response(response, shape)
            _replace_times(response)

    StateTaskService._normalise_parameters = parameters
    StateTaskService._normalise_response = response


def _replace_times(value: Any) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        if isinstance(item, dt.datetime):
            value[key] = int(item.timestamp() * 1000)
        else:
            _replace_times(item)


def _clients_of_the_state_machines_role() -> None:
    """Tasks are called with fixed keys and a new client each (20 ms and more): use the role's, and keep clients."""

    def client(region: str, service: str, state_credentials: Any = None) -> Any:
        return HUB.client(getattr(state_credentials, "role_arn", "") or "", region, service)

    for module in (
        lambda_eval_utils,
        state_task_service_ecs,
        state_task_service_sfn,
        state_task_service_aws_sdk,
    ):
        module.boto_client_for = client


def _prompt_sync() -> None:
    """``.sync`` polls twice a second: look again when an execution ended, and stop the child if we are stopped.

    AWS stops the child of an aborted or timed-out ``.sync`` task as well as it can.
    """

    def evaluate(self: Any, env: Any, sync_resolver: Any, **_ignored: Any) -> Any:
        while env.is_running():
            ends = HUB.ends
            # Not while holding the condition: StopExecution holds the API's lock and wants the condition.
            result = sync_resolver()
            if result:
                return result
            HUB.wait_for_end(ends, 5)
        stop = getattr(sync_resolver, "stop", None)
        if stop is not None:
            with contextlib.suppress(ClientError):
                stop()
        return None

    state_task_service_callback.StateTaskServiceCallback._eval_sync = evaluate


def _stop_children() -> None:
    """Lets ``.sync`` know how to stop its child."""
    original = state_task_service_sfn.StateTaskServiceSfn._build_sync2_resolver

    def build(
        self: Any, env: Any, resource_runtime_part: Any, normalised_parameters: Any, state_credentials: Any
    ) -> Any:
        child = env.stack[-1]["ExecutionArn"]
        inner = original(self, env, resource_runtime_part, normalised_parameters, state_credentials)
        client = HUB.client(state_credentials.role_arn, resource_runtime_part.region, "stepfunctions")

        def resolver() -> Any:
            return inner()

        resolver.stop = lambda: client.stop_execution(executionArn=child)
        return resolver

    state_task_service_sfn.StateTaskServiceSfn._build_sync2_resolver = build


class _TaskTimedOut(AWSError):
    """Moto's own class of this name has no code in its answer."""

    TYPE = "TaskTimedOut"
    STATUS = 400


def _closed_tokens() -> None:
    """A token that was answered, timed out or belongs to an ended execution is TaskTimedOut, as on AWS.

    moto forgets that a wait ended (a late answer succeeds silently), lets a second answer replace the
    first, and looks only at running executions (InvalidToken).
    """
    lock = threading.Lock()

    def interrupt_all(self: CallbackEndpoint) -> None:
        with lock:
            self.consumer_error = CallbackConsumerTimeout()
        self._notify_event.set()
        if self._heartbeat_endpoint is not None:
            self._heartbeat_endpoint.notify()

    def open_endpoint(self: CallbackPoolManager, token: str) -> CallbackEndpoint | None:
        endpoint: CallbackEndpoint | None = self._pool.get(token)
        if endpoint is not None and (endpoint._outcome is not None or endpoint.consumer_error is not None):
            raise _TaskTimedOut("Task Timed Out: 'Provided task does not exist anymore'")
        return endpoint

    def notify(self: CallbackPoolManager, callback_id: str, outcome: Any) -> bool:
        with lock:
            endpoint = open_endpoint(self, callback_id)
            if endpoint is not None:
                endpoint.notify(outcome=outcome)
        return endpoint is not None

    def heartbeat(self: CallbackPoolManager, callback_id: str) -> bool:
        endpoint = open_endpoint(self, callback_id)
        if endpoint is not None:
            endpoint.notify_heartbeat()
        return endpoint is not None

    CallbackEndpoint.interrupt_all = interrupt_all
    CallbackPoolManager.notify = notify
    CallbackPoolManager.heartbeat = heartbeat
    parser_models.StepFunctionsParserBackend._get_executions = _executions


def _executions(backend: Any, _status: Any = None) -> list[Any]:
    """Return all executions that ever ran, also ended ones."""
    every = [execution for machine in backend.state_machines for execution in machine.executions]
    return [execution for execution in every if execution.exec_worker.env is not None]


def _long_tokens() -> None:
    """Tokens are UUIDs in moto and hundreds of characters of base64 on AWS: whoever stores them must cope."""

    def token(self: ContextObject) -> str:
        value = "AQCEAAAAKgAAAAMAAAAAAAAAA" + base64.b64encode(secrets.token_bytes(480)).decode()
        self.context_object_data["Task"] = {"Token": value}
        return value

    ContextObject.update_task_token = token


def _token_of_each_attempt() -> None:
    """A retried task has a new token; moto's retry waits with the closed one, and so times out at once.

    After the task's time-out its token is closed; with heartbeats moto does so only after the next one.
    """
    callback = state_task_service_callback.StateTaskServiceCallback
    original = callback._evaluate_with_timeout

    def evaluate(self: Any, env: Any) -> None:
        context = env.states.context_object
        if "Task" in context.context_object_data and context.context_object_data["State"]["RetryCount"]:
            env.callback_pool_manager.add(context.update_task_token())
        try:
            original(self, env)
        except EvalTimeoutError:
            endpoint = env.callback_pool_manager.get(context.context_object_data.get("Task", {}).get("Token"))
            if endpoint is not None:
                endpoint.interrupt_all()
            raise

    callback._evaluate_with_timeout = evaluate


def _early_answers() -> None:
    """An answer that comes before the integration's call returned must not wait for a heartbeat time-out."""
    original = CallbackEndpoint.setup_heartbeat_endpoint

    def setup(self: CallbackEndpoint, heartbeat_seconds: int) -> HeartbeatEndpoint:
        endpoint: HeartbeatEndpoint = original(self, heartbeat_seconds)
        if self._outcome is not None:
            endpoint.notify()
        return endpoint

    CallbackEndpoint.setup_heartbeat_endpoint = setup


def _missed_heartbeats() -> None:
    """A missed heartbeat is States.HeartbeatTimeout; moto calls it by the name of the state's time-out."""
    callback = state_task_service_callback.StateTaskServiceCallback
    original = callback._from_error
    missed = StatesErrorNameType.StatesHeartbeatTimeout

    def from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if not isinstance(ex, HeartbeatTimeoutError):
            return original(self, env, ex)
        details = EventDetails(taskTimedOutEventDetails=TaskTimedOutEventDetails(error=missed.to_name()))
        return FailureEvent(
            env=env,
            error_name=StatesErrorName(typ=missed),
            event_type=HistoryEventType.TaskTimedOut,
            event_details=details,
        )

    callback._from_error = from_error


def _task_failure_cause() -> None:
    """SendTaskFailure's cause is dropped by the request handler."""

    def respond(self: StepFunctionResponse) -> Any:
        self.stepfunction_backend.send_task_failure(
            self._get_param("taskToken"), error=self._get_param("error"), cause=self._get_param("cause")
        )
        return EmptyResult()

    StepFunctionResponse.send_task_failure = respond


def _run_task() -> None:
    """Moto calls DescribeTasks after RunTask, which the role of a state machine need not be allowed on AWS.

    Where nothing could be started the state fails with AmazonECS.Unknown, as AWS documents it.
    """

    def run(
        self: Any, env: Any, resource_runtime_part: Any, normalised_parameters: Any, state_credentials: Any
    ) -> None:
        client = HUB.client(state_credentials.role_arn, resource_runtime_part.region, "ecs")
        response = client.run_task(**normalised_parameters)
        response.pop("ResponseMetadata", None)
        if response["failures"]:
            refused = {"Error": {"Code": "AmazonECS.Unknown", "Message": json.dumps(response["failures"])}}
            raise ClientError(refused, "RunTask")
        env.stack.append(response)

    state_task_service_ecs.StateTaskServiceEcs._eval_service_task = run


def _errors_of_items() -> None:
    """Moto refuses the error of an item of a Map, or of a branch, that begins with ``States.``, such as TaskFailed."""

    def named(error_name: str | None) -> Any:
        if error_name is not None and error_name.startswith("States."):
            return StatesErrorName(StatesErrorNameType.from_name(error_name))
        return CustomErrorName(error_name)

    iteration_worker.CustomErrorName = named
    branches_decl.CustomErrorName = named


def _error_names() -> None:
    """A refused ECS call is States.Runtime in moto and ``ECS.<code>`` on AWS; Step Functions' get a doubled suffix."""

    def named(prefix: str, original: Any) -> Any:
        def from_error(self: Any, env: Any, ex: Exception) -> Any:
            if not isinstance(ex, ClientError):
                return original(self, env, ex)
            error = ex.response["Error"]
            code = error["Code"]
            name = code if code == "AmazonECS.Unknown" else f"{prefix}.{code.removesuffix('Exception')}Exception"
            details = TaskFailedEventDetails(
                error=name,
                cause=error.get("Message", ""),
                resource=self._get_sfn_resource(),
                resourceType=self._get_sfn_resource_type(),
            )
            return FailureEvent(
                env=env,
                error_name=CustomErrorName(name),
                event_type=HistoryEventType.TaskFailed,
                event_details=EventDetails(taskFailedEventDetails=details),
            )

        return from_error

    for prefix, task in (
        ("ECS", state_task_service_ecs.StateTaskServiceEcs),
        ("StepFunctions", state_task_service_sfn.StateTaskServiceSfn),
    ):
        task._from_error = named(prefix, task._from_error)


def token_owners(backend: StepFunctionBackend, token: str) -> tuple[str, ...]:
    """Return the ARNs that a task token belongs to, none for a token of nobody.

    With a distributed Map, they are the state machine's and that of its items: all that wait in ours do so for an item.
    """
    for machine in backend.state_machines:
        for execution in machine.executions:
            env = execution.exec_worker.env if execution.exec_worker else None
            if env is not None and env.callback_pool_manager.get(token) is not None:
                labels = execution_shims.labels(machine.definition)
                return (str(machine.arn), *(f"{machine.arn}/{label}" for label in labels))
    return ()

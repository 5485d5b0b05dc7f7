"""Names, events, logs and stopping of executions in moto 5.2.5, put right (part of shims.py)."""

# ruff: noqa: SLF001 - replacements have the signatures of what they replace.
# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type,call-arg,typeddict-item"
# mypy: disable-error-code="no-any-return,no-untyped-call,union-attr,misc,import-untyped"
from __future__ import annotations

import contextlib
import datetime as dt
import functools
import json
import re
import uuid
from typing import Any

from antlr4.RuleContext import RuleContext
from moto.stepfunctions.exceptions import InvalidName
from moto.stepfunctions.models import StateMachine
from moto.stepfunctions.parser import models as parser_models
from moto.stepfunctions.parser.api import ExecutionStatus
from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task import StateTask
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.logging import is_logging_enabled_for
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor
from moto.stepfunctions.parser.backend.execution import BaseExecutionWorkerCommunication, Execution
from moto.stepfunctions.responses import StepFunctionResponse

from tidegate_local.latency import LATENCY
from tidegate_local.moto.hub import HUB

_LEGAL_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")
_ENDED = (ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED, ExecutionStatus.ABORTED, ExecutionStatus.TIMED_OUT)


def install() -> None:
    """Put everything in place."""
    for shim in (_parse_once, _stop_at_once, _execution_names, _execution_events, _execution_logs, _task_latency):
        shim()


def labels(definition: str) -> tuple[str, ...]:
    """Return the labels of the distributed Maps of a definition."""
    states = json.loads(definition)["States"].values()
    return tuple(state["Label"] for state in states if "Label" in state)


def inlined(definition: str) -> str:
    """Return a definition whose distributed Maps go through their items in the execution itself.

    moto has no executions for items: their tokens and their histories would be out of reach.
    """
    document = json.loads(definition)
    for state in document.get("States", {}).values():
        if state.get("ItemProcessor", {}).get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED":
            state["ItemProcessor"]["ProcessorConfig"] = {"Mode": "INLINE"}
            for only_distributed in ("Label", "ToleratedFailurePercentage"):
                state.pop(only_distributed, None)
    return json.dumps(document)


def _parse_once() -> None:
    """Each start of an execution parses its definition with ANTLR: a third of a second for ours.

    Only the syntax tree is kept, with the texts of its parts. What an execution runs is built from it again, because
    that has state. Distributed Maps are inlined.
    """
    RuleContext.getText = functools.cache(RuleContext.getText)
    original = AmazonStateLanguageParser.parse
    trees: dict[str, Any] = {}

    def parse(definition: str) -> tuple[Any, Any]:
        if definition in trees:
            return Preprocessor().visit(trees[definition]), trees[definition]
        program, tree = original(inlined(definition) if "DISTRIBUTED" in definition else definition)
        trees[definition] = tree
        return program, tree

    AmazonStateLanguageParser.parse = staticmethod(parse)


def _stop_at_once() -> None:
    """StopExecution ends an execution at once, whatever it waits for, with the caller's error and cause.

    moto drops both, and lets a waiting task wait on until its time-out.
    """

    def stop(self: Execution, stop_date: Any, error: str | None, cause: str | None) -> None:
        if self.exec_status != ExecutionStatus.RUNNING:
            return
        self.exec_status, self.stop_date, self.error, self.cause = ExecutionStatus.ABORTED, stop_date, error, cause
        env = self.exec_worker.env
        if env is not None:
            env.set_stop(stop_date=stop_date, cause=cause, error=error)
            for endpoint in list(env.callback_pool_manager._pool.values()):
                endpoint.interrupt_all()
        HUB.execution_changed(self)
        HUB.wake_waiting()

    def set_error(self: Environment, error: Any) -> None:
        if self.is_running():
            original_set_error(self, error)

    def respond(self: StepFunctionResponse) -> Any:
        execution = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
        execution.stop(dt.datetime.now(dt.UTC), self._get_param("error"), self._get_param("cause"))
        return original_respond(self)

    original_set_error = Environment.set_error
    original_respond = StepFunctionResponse.stop_execution
    Execution.stop = stop
    Environment.set_error = set_error
    StepFunctionResponse.stop_execution = respond


def _execution_names() -> None:
    """Illegal names are accepted, and without a name the execution is called None. Inputs are compared as JSON."""
    original = parser_models.StepFunctionsParserBackend.start_execution

    def start(
        self: Any, arn: str, name: str | None = None, execution_input: Any = None, trace_header: Any = None
    ) -> Any:
        name = name or str(uuid.uuid4())
        if not _LEGAL_NAME.fullmatch(name):
            raise InvalidName(f"Invalid Name: '{name}'")
        return original(self, arn, name, execution_input, trace_header)

    def same(self: StateMachine, name: str, execution_input: str) -> Any:
        for execution in self.executions:
            if execution.name == name and execution.status == "RUNNING":
                with contextlib.suppress(ValueError):
                    if json.loads(execution.execution_input) == json.loads(execution_input):
                        return execution
        return original_same(self, name, execution_input)

    original_same = StateMachine._handle_name_input_idempotency
    parser_models.StepFunctionsParserBackend.start_execution = start
    StateMachine._handle_name_input_idempotency = same


def _execution_events() -> None:
    """EventBridge gets "Step Functions Execution Status Change" for each status; moto sends none."""
    original_start, original_terminated = Execution.start, BaseExecutionWorkerCommunication.terminated

    def start(self: Execution) -> None:
        original_start(self)
        HUB.execution_changed(self)

    def terminated(self: BaseExecutionWorkerCommunication) -> None:
        if self.execution.exec_status in _ENDED:
            return
        original_terminated(self)
        HUB.execution_changed(self.execution)
        HUB.wake_waiting()

    Execution.start = start
    BaseExecutionWorkerCommunication.terminated = terminated


class _LogSession:
    """Stands where moto's own CloudWatch session would: its backend never creates one."""

    def __init__(self, execution_arn: str, machine: str) -> None:
        self.execution_arn = execution_arn
        self.configuration = self
        group, level, self.include_execution_data = HUB.state_machine_logging[machine]
        self._group, self._level = group, level
        self._stream = f"states/{machine}"

    def log_level_filter(self, history_event_type: Any) -> bool:
        return bool(is_logging_enabled_for(self._level, history_event_type))

    def publish_history_log(self, history_log: Any) -> None:
        HUB.log(self._group, self._stream, [json.dumps(history_log, default=str)])


def _execution_logs() -> None:
    """Executions write their history to the log group of their machine, as its logging configuration says."""
    original = Execution._get_start_execution_worker

    def worker(self: Execution) -> Any:
        machine = self.state_machine.name
        if machine in HUB.state_machine_logging:
            self._cloud_watch_logging_session = _LogSession(self.exec_arn, machine)
        return original(self)

    Execution._get_start_execution_worker = worker


def _task_latency() -> None:
    """A task is entered as late as the model of AWS's latencies says, if there is one."""
    original = StateTask._eval_body

    def evaluate(self: StateTask, env: Environment) -> None:
        LATENCY.wait("states_task", self.name)
        original(self, env)

    StateTask._eval_body = evaluate

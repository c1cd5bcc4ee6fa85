"""The routes of operations: one for each row that has one."""

from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.tools.operations import agent_caller, run_with_device
from clawperator.commands.model import resolve_handler
from clawperator.operations.call import HTTP
from clawperator.operations.model import Operation, all_operations, copied_fields, shape_of
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import OnDevice
from clawperator.serve.http.route import HttpRoute, Method

_DEVICE = (
    *("INVALID_DEVICE_ID", "INVALID_OPERATOR_PACKAGE"),
    *("DEVICE_NOT_FOUND", "NO_DEVICES", "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"),
)


def operation_routes() -> tuple[HttpRoute, ...]:
    return tuple(_route(row) for row in all_operations() if row.route)


def _route(operation: Operation) -> HttpRoute:
    method, path = operation.route.split()
    return HttpRoute(
        method=msgspec.convert(method, Method),
        path=path,
        summary=operation.summary,
        request=_request(operation),
        answer=_answer(operation),
        work=partial(_run, operation),
        errors=(*(_DEVICE if operation.on_device else ()), *operation.errors),
        seconds=operation.seconds,
    )


def _request(operation: Operation) -> type[Struct]:
    """The parameters; those of an operation on a device with the device and its Operator."""
    shape = shape_of(operation)
    if not operation.on_device:
        return shape
    name = shape.__name__.removesuffix("Params") + "Request"
    return msgspec.defstruct(
        name, copied_fields(shape), bases=(OnDevice,), frozen=True, kw_only=True, rename="camel"
    )


def _answer(operation: Operation) -> type[Struct]:
    """The result, or an object that has it as one member."""
    result: type[Struct] = resolve_handler(operation.result)
    if not operation.answer_as:
        return result
    name = operation.params.__name__.removesuffix("Params") + "Answer"
    return msgspec.defstruct(name, [(operation.answer_as, result)], frozen=True)


def _run(operation: Operation, request: Any, http: HttpCall) -> Any:
    caller = agent_caller(http.access.context(http.deadline))
    caller = replace(caller, entry=HTTP, is_stopping=http.is_stopping)
    if operation.on_device:
        package = http.package(request.operatorPackage)
        caller = replace(caller, device=http.serial(request.deviceId), operator_package=package)
    names = shape_of(operation).__struct_fields__
    params = operation.params(**{name: getattr(request, name) for name in names})
    document = run_with_device(operation, params, caller)[1]
    return {operation.answer_as: document} if operation.answer_as else document

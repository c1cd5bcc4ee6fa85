"""Work of the routes of the doctor and schemas."""

from clawperator import schemas
from clawperator.device.setup.device_checks import HANDSHAKE_MS
from clawperator.device.setup.doctor import run_doctor
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import (
    DoctorAnswer,
    NoFields,
    OnDevice,
    OneSchema,
    SchemaList,
    SchemaName,
    SchemaRequest,
)


def check_device(request: OnDevice, call: HttpCall) -> DoctorAnswer:
    serial, package = call.serial(request.deviceId), call.package(request.operatorPackage)
    return DoctorAnswer(run_doctor(serial, package, timeout_ms=HANDSHAKE_MS))


def get_schemas(_: NoFields, __: HttpCall) -> SchemaList:
    return SchemaList([SchemaName(row["name"], row["description"]) for row in schemas.list_schemas()])


def get_schema(request: SchemaRequest, _: HttpCall) -> OneSchema:
    return OneSchema(schemas.schema(request.name))

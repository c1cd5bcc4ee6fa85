"""Work of the other routes: skills, emulators, simulated phones, recordings, the doctor and schemas."""

from clawperator import schemas
from clawperator.device.setup.device_checks import HANDSHAKE_MS
from clawperator.device.setup.doctor import run_doctor
from clawperator.serve.http.calls import HttpCall, given
from clawperator.serve.http.documents import (
    DoctorAnswer,
    NoFields,
    OnDevice,
    OneSchema,
    OneSkill,
    RanSkill,
    RunSkillRequest,
    SchemaList,
    SchemaName,
    SchemaRequest,
    SkillList,
    SkillRequest,
    SkillsRequest,
)
from clawperator.skills.registry import open_registry, search_skills
from clawperator.skills.run import SkillRunRequest, run_skill

# Skills


def list_skills(request: SkillsRequest, _: HttpCall) -> SkillList:
    filters = {"app": request.app or None, "intent": request.intent or None, "keyword": request.keyword or None}
    entries = open_registry().entries
    found = search_skills(entries, **filters) if any(filters.values()) else entries
    return SkillList(list(found), len(found))


def get_skill(request: SkillRequest, _: HttpCall) -> OneSkill:
    return OneSkill(open_registry().entry(request.id))


def run_one_skill(request: RunSkillRequest, call: HttpCall) -> RanSkill:
    options = call.access.options
    wanted = SkillRunRequest(
        request.id,
        args=tuple(request.args),
        device=call.serial(request.deviceId),
        operator_package=call.package(request.operatorPackage),
        timeout_ms=given(request.timeoutMs),
        expect=given(request.expectContains),
        pass_env=options.pass_env,
        allow_schemes=options.allow_schemes,
    )
    ran = run_skill(open_registry(), wanted, stop=call.is_stopping)
    return RanSkill(
        skillId=ran.skillId,
        output=ran.output,
        exitCode=ran.exitCode,
        durationMs=ran.durationMs,
        timeoutMs=ran.timeoutMs,
        expectedSubstring=ran.expectedSubstring,
        skillResult=ran.skillResult,
    )


# The doctor and schemas


def check_device(request: OnDevice, call: HttpCall) -> DoctorAnswer:
    serial, package = call.serial(request.deviceId), call.package(request.operatorPackage)
    return DoctorAnswer(run_doctor(serial, package, timeout_ms=HANDSHAKE_MS))


def get_schemas(_: NoFields, __: HttpCall) -> SchemaList:
    return SchemaList([SchemaName(row["name"], row["description"]) for row in schemas.list_schemas()])


def get_schema(request: SchemaRequest, _: HttpCall) -> OneSchema:
    return OneSchema(schemas.schema(request.name))

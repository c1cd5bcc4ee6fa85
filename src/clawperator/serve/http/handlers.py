"""Work of the other routes: skills, emulators, simulated phones, recordings, the doctor and schemas."""

from msgspec import UNSET

from clawperator import schemas
from clawperator.device.emulators import emulator
from clawperator.device.emulators.avd import API_LEVEL, DEFAULT_NAME, PROFILE, Avd, host_abi
from clawperator.device.setup.device_checks import HANDSHAKE_MS
from clawperator.device.setup.doctor import run_doctor
from clawperator.errors import ClawError
from clawperator.policy.enforcement import check_call
from clawperator.recording.listing import list_recordings
from clawperator.serve.http.calls import HttpCall, given
from clawperator.serve.http.documents import (
    AvdList,
    AvdRequest,
    CreateAvdRequest,
    DoctorAnswer,
    EmulatorList,
    FolderRequest,
    NoFields,
    OnDevice,
    OneSchema,
    OneSkill,
    ProvisionRequest,
    RanSkill,
    RecordingList,
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


# Emulators


def list_avds(_: NoFields, __: HttpCall) -> AvdList:
    return AvdList(emulator.list_avds())


def list_running(_: NoFields, __: HttpCall) -> EmulatorList:
    return EmulatorList(emulator.running_emulators())


def inspect_avd(request: AvdRequest, _: HttpCall) -> Avd:
    return emulator.inspect_avd(request.name)


def create_avd(request: CreateAvdRequest, _: HttpCall) -> Avd:
    name = given(request.name) or DEFAULT_NAME
    supported = {"apiLevel": API_LEVEL, "abi": host_abi(), "deviceProfile": PROFILE, "playStore": True}
    for field, value in supported.items():
        wanted = getattr(request, field)
        if wanted not in (UNSET, value):
            raise ClawError(
                "EMULATOR_UNSUPPORTED",
                f"{field} {wanted!r} is not supported",
                hint=f"Leave it out, or send {value!r}.",
                details={"avdName": name, "supported": supported},
                operation="emulator",
                target=name,
            )
    return emulator.create_avd(name)


def start_avd(request: AvdRequest, _: HttpCall) -> emulator.StartedEmulator:
    return emulator.start_emulator(request.name)


def stop_avd(request: AvdRequest, _: HttpCall) -> dict[str, object]:
    return emulator.stop_emulator(request.name)


def delete_avd(request: AvdRequest, _: HttpCall) -> dict[str, object]:
    return emulator.delete_avd(request.name)


def provision_avd(request: ProvisionRequest, _: HttpCall) -> emulator.Provisioned:
    return emulator.provision(given(request.name) or DEFAULT_NAME)


# Recordings


def get_recordings(request: FolderRequest, call: HttpCall) -> RecordingList:
    check_call("recording_list", "read-only", request.folder)
    found = list_recordings(call.path(request.folder, "recording list", "read"))
    return RecordingList(found, len(found))


# The doctor and schemas


def check_device(request: OnDevice, call: HttpCall) -> DoctorAnswer:
    serial, package = call.serial(request.deviceId), call.package(request.operatorPackage)
    return DoctorAnswer(run_doctor(serial, package, timeout_ms=HANDSHAKE_MS))


def get_schemas(_: NoFields, __: HttpCall) -> SchemaList:
    return SchemaList([SchemaName(row["name"], row["description"]) for row in schemas.list_schemas()])


def get_schema(request: SchemaRequest, _: HttpCall) -> OneSchema:
    return OneSchema(schemas.schema(request.name))

"""The registry of action types: what a row holds, and how a params Struct is registered with one."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from clawperator.contract.selectors import Problem


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    """Retry policy. An absent field takes the default here, not that of the action."""

    maxAttempts: Annotated[int, Meta(ge=1, le=10, description="attempts, including the first")] = 1
    initialDelayMs: Annotated[float, Meta(ge=0, le=30_000, description="pause before the second attempt")] = 0
    maxDelayMs: (
        Annotated[float, Meta(ge=0, le=60_000, description="longest pause (default: initialDelayMs)")] | UnsetType
    ) = UNSET
    backoffMultiplier: Annotated[float, Meta(ge=1, le=5, description="factor between two pauses")] = 1
    jitterRatio: Annotated[float, Meta(ge=0, le=1, description="random part of a pause")] = 0

    def problems(self) -> Iterator[Problem]:
        if isinstance(self.maxDelayMs, float | int) and self.maxDelayMs < self.initialDelayMs:
            yield "maxDelayMs", "must not be less than initialDelayMs"


class Params(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of one action."""

    def problems(self) -> Iterator[Problem]:
        """Violations that a type cannot express: rules over several fields, blank texts, grammars."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Struct) and hasattr(value, "problems"):
                for below, message in value.problems():
                    yield f"{name}.{below}".rstrip("."), message
        yield from self.rules()

    def rules(self) -> Iterator[Problem]:
        """The rules of this action. They are also checked when a required param is missing; it is then UNSET."""
        return iter(())

    @property
    def only_for_host(self) -> bool:
        """Whether these values are beyond what an Operator accepts."""
        return False


class Template(Struct, frozen=True):
    """The fixed fields of an execution with only this action.

    The command id is ``<prefix>_<ms>``, or ``<prefix><ms>-<random>`` where the prefix ends in a dash. An empty
    ``task_id`` means the command id.
    """

    prefix: str
    source: str
    timeout_ms: int
    action_id: str
    task_id: str = ""
    mode: str | None = None


class ActionType(Struct, frozen=True):
    """The row of an action type.

    A ``read_only`` action leaves the device and the host unchanged; ``level`` is the permission level of the
    others. ``runs_on_host`` marks actions that the host runs instead of the Operator, ``without_screen`` those of
    them that need no capture, ``unsettles`` actions after which the screen may still be moving. With one of
    ``host_params`` the host runs an action that the Operator knows; ``result_params`` are what the host does with
    the result of a step. An Operator receives none of them.
    ``typed_param`` is the param whose text may be a secret, ``path_param`` the one that names a file to write,
    ``input_path_param`` a file to read, ``uri_param`` a URI to open; ``evidence`` is the kind of evidence that the
    result is.
    ``removed_params`` hold hints for params of old versions. App names lead to actions that ``takes_app_name``;
    tools accept the label of an app for actions that ``resolves_label``.
    Simple agents get only actions ``in_simple_mode``. ``model_tool`` is the tool through which models use it.
    ``performs`` are other actions that it performs as well: rules that deny them apply to it.
    ``params`` is set by ``register``.
    """

    name: str
    summary: str
    template: Template
    aliases: tuple[str, ...] = ()
    family: Literal["action", "observation", "recording"] = "action"
    read_only: bool = False
    level: Literal["act", "full"] = "act"
    runs_on_host: bool = False
    without_screen: bool = False
    host_params: tuple[str, ...] = ()
    result_params: tuple[str, ...] = ()
    unsettles: bool = False
    typed_param: str = ""
    path_param: str = ""
    input_path_param: str = ""
    uri_param: str = ""
    evidence: Literal["execution", "snapshot", "screenshot"] = "execution"
    removed_params: Mapping[str, str] = {}
    takes_app_name: bool = False
    resolves_label: bool = False
    in_simple_mode: bool = False
    model_tool: str = ""
    performs: tuple[str, ...] = ()
    params: type[Params] = Params


REGISTERED: dict[str, ActionType] = {}


class ActionRegistry(Mapping[str, ActionType]):
    """Every action type by name. ``load_rest`` registers the rows that are not there yet, when they are needed.

    Most commands run an action of the Operator's contract, and need no other row.
    """

    def __init__(self, load_rest: Callable[[], object]) -> None:
        self._load_rest = load_rest
        self._is_complete = False

    def _complete(self) -> dict[str, ActionType]:
        if not self._is_complete:
            self._load_rest()
            self._is_complete = True
        return REGISTERED

    def __getitem__(self, name: str) -> ActionType:
        return REGISTERED[name] if name in REGISTERED else self._complete()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())


P = TypeVar("P", bound=Params)


def register(row: ActionType) -> Callable[[type[P]], type[P]]:
    """Register the decorated Struct as the params of an action type."""

    def add(params: type[P]) -> type[P]:
        fields = params.__struct_fields__
        results = tuple(name for name in ("expect", "settle") if name in fields and name not in row.host_params)
        REGISTERED[row.name] = replace(row, params=params, result_params=(*row.result_params, *results))
        return params

    return add


def is_snapshot(action_type: str | None) -> bool:
    """Whether the result of an action is a hierarchy."""
    return action_type is not None and action_type in REGISTERED and REGISTERED[action_type].evidence == "snapshot"


def unsettles(action_type: str | None) -> bool:
    """Whether the screen may still be moving after an action."""
    return action_type is not None and action_type in REGISTERED and REGISTERED[action_type].unsettles


def changes_device(action_type: str) -> bool:
    """Whether an action may change something on the device. A screenshot only writes a file on the host."""
    row = REGISTERED.get(action_type)
    return row is None or not (row.read_only or row.family == "observation")

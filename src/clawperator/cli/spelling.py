"""The parameters of an action as its command has them: errors about the plan of a line name its flags."""

from clawperator.cli.parsing import ParsedArguments
from clawperator.contract.fields import ParamField, fields_of
from clawperator.contract.issues import Spelling
from clawperator.contract.selectors import NodeSelector
from clawperator.operations.actions import ActionCommand


class Flags(Spelling):
    """The flags of a line. A member of a selector that is given as JSON keeps its name."""

    def __init__(self, arguments: ParsedArguments, row: ActionCommand) -> None:
        self._arguments = arguments
        self._row = row

    def name(self, path: str) -> str:
        first, _, below = path.partition(".")
        field = self._find(first)
        if field is None or field.use.spread is None:
            # Some commands make a selector, or a parameter, from fields of their own.
            field = field or self._find(below) or next((one for one in self._row.fields if one.use.word), None)
            return self._flag(field) if field else super().name(path)
        json = self._json(path)
        if json or (not below and field.type is NodeSelector):
            prefix = field.use.spread
            return super().name(below) if below else json or (f"--{prefix}text" if prefix else "")
        inner = [one for one in fields_of(field.type) if one.name in (below.split(".")[0] or one.name)]
        return " or ".join(self._flag(one, field.use.spread) for one in inner if one.has_flag)

    def place(self, path: str) -> str:
        return self._json(path) or (self.name(path) if path else "")

    def example(self, path: str) -> str:
        if json := self._json(path):
            return f"""{json} '{{"textEquals": "Display"}}'"""
        label = self.name(f"{path}.textEquals")
        return "--role textfield" if label in self._row.own_flags else f"{label} Display"

    def _find(self, name: str) -> ParamField | None:
        return next((field for field in self._row.fields if field.name == name), None)

    def _json(self, path: str) -> str:
        """The flag that gives a selector as JSON, if it is on the line."""
        field = self._find(path.partition(".")[0])
        flag = f"--{field.use.spread}selector" if field and field.use.spread is not None else ""
        return flag if self._arguments.has(flag) else ""

    def _flag(self, field: ParamField, prefix: str = "") -> str:
        switches = [flag for flag, _, _ in field.use.switches]
        if switches:
            return next((flag for flag in switches if self._arguments.has(flag)), switches[0])
        return f"--{prefix}{field.flag[2:]}" if field.has_flag else field.metavar

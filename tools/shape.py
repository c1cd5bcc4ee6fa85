"""Print the shape of the package: sizes, import graph, reused names. Run with ``make shape``.

Exits with 1 when a required figure is missed: an import cycle (type-only imports included), or an action that is
described in more than five places.
"""

import argparse
import ast
import gc
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = "clawperator"
MOST_PLACES = 5


class Module:
    """A parsed source file and the modules of the package that it imports."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        source = path.read_text("utf-8")
        self.lines = source.count("\n")
        self.tree = ast.parse(source)
        self.is_package = path.name == "__init__.py"

    def imports(self, known: Iterable[str]) -> Iterator[str]:
        """Modules of the package this one imports, at any level of nesting, type-only imports included."""
        names = set(known)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in names)
            elif isinstance(node, ast.ImportFrom) and node.module in names:
                for alias in node.names:
                    submodule = f"{node.module}.{alias.name}"
                    yield submodule if submodule in names else str(node.module)


def load(root: Path) -> dict[str, Module]:
    gc.disable()  # a collection visits all syntax trees so far, which are no garbage
    try:
        return _load(root)
    finally:
        gc.enable()


def _load(root: Path) -> dict[str, Module]:
    modules = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        if "shipped" in path.parts:
            continue  # scripts that run on their own
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path)
    return modules


def import_graph(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Edges between modules. Lazy exports of the public ``__init__`` are not edges: they are its purpose."""
    graph: dict[str, set[str]] = {}
    for name, module in modules.items():
        targets = set(module.imports(modules)) - {name}
        if module.is_package:
            targets = {target for target in targets if not target.startswith(f"{name}.")}
        graph[name] = targets
    return graph


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others; largest first."""
    reachable = {name: _reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reached if name in reachable[other]))
        for name, reached in reachable.items()
        if name in reached
    }
    return sorted(map(list, groups), key=len, reverse=True)


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph[waiting.pop()] - found:
            found.add(target)
            waiting.append(target)
    return found


def reused_class_names(modules: dict[str, Module]) -> dict[str, list[str]]:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.name)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


# Packages that describe or dispatch actions. Recordings, replay, the simulated phone and the offline brain have
# words of their own: a recorded click is an event, and a function of the offline brain answers an instruction.
_ACTION_PACKAGES = ("agent", "cli", "commands", "api", "contract", "device", "engine", "schemas", "testing")
_ROWS = re.compile(rf"{PACKAGE}\.contract\.(host_)?actions")
_COMMANDS = f"{PACKAGE}.commands."
_READERS = f"{PACKAGE}.cli.handlers."
_GENERATED = f"{PACKAGE}.api.async_phone"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def action_places(modules: dict[str, Module]) -> dict[str, set[str]]:
    """For each action type, the hand-written places that name it, as ``module:definition``.

    The types are the rows of ``contract/actions.py`` and ``contract/host_actions.py``.
    A place is a top-level definition. It counts when it
    - has the name of the type or of its params Struct,
    - registers the type with its row, or is the command row that names the type as its tool,
    - holds the type in a table (element of a collection or key of a dict at module level) or compares with it,
    - refers to the params Struct outside of the module of the engine function, or
    - is a class of ``api`` with a method that runs the action, or with a member of that method's name.

    A command row and its argument reader are one place: the row names the reader. An action that another row
    ``performs`` is no place of it: that row only repeats the name, for the rules of the policy. Imports, uses
    (arguments of calls and documents in function bodies), the generated async phone
    and docs do not count. The types that are English words (click, scroll, sleep) also name gestures and words of
    prompts: for them strings count only in rows.
    """
    written = {
        name: [node for node in module.tree.body if isinstance(node, Definition)]
        for name, module in modules.items()
        if name.partition(".")[2].split(".")[0] in _ACTION_PACKAGES
        and ".agent.offline" not in name
        and name != _GENERATED
    }
    strings = {node: _Strings(node) for nodes in written.values() for node in nodes}
    places: dict[str, set[str]] = {}
    rows = [node for name, nodes in written.items() if _ROWS.fullmatch(name) for node in nodes]
    for action, struct in _registered(rows).items():
        methods = _methods_of(action, written)
        engine = {n for n, nodes in written.items() if ".engine." in n and action in map(_label, nodes)}
        found = {
            f"{module}:{_label(node)}"
            for module, nodes in written.items()
            for node in nodes
            if _label(node) in (action, struct)
            or strings[node].holds(action, is_row=module.startswith(_COMMANDS) or isinstance(node, ast.ClassDef))
            or (module not in engine and struct in strings[node].names)
            or (".api." in module and isinstance(node, ast.ClassDef) and methods & _members(node))
        }
        readers = {place for place in found if place.startswith(_READERS)}
        places[action] = found - readers
    return places


def _label(node: Definition) -> str:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return target.id if isinstance(target, ast.Name) else ""
    return node.name


def _registered(nodes: list[Definition]) -> dict[str, str]:
    """The action types and their params Structs, from the decorators of the Structs."""
    return {
        str(call.args[0].value): node.name
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for decorator in reversed(node.decorator_list)
        if isinstance(decorator, ast.Call)
        if isinstance(decorator.func, ast.Name) and decorator.func.id == "register"
        for call in decorator.args
        if isinstance(call, ast.Call) and isinstance(call.args[0], ast.Constant)
    }


def _methods_of(action: str, written: dict[str, list[Definition]]) -> set[str]:
    """The methods of ``api`` that run an action."""
    classes = (node for name, nodes in written.items() if ".api." in name for node in nodes)
    return {
        method.name
        for node in classes
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        for call in ast.walk(method)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "_step"
        if _is_string(call.args[0], action)
    }


def _members(node: ast.ClassDef) -> set[str]:
    """The members of a class. A protocol has none: it declares what it uses."""
    if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
        return set()
    return {_label(member) for member in node.body if isinstance(member, Definition)}


class _Strings:
    """The strings and names of a definition, by the way in which it holds them."""

    def __init__(self, node: Definition) -> None:
        roots = node.decorator_list if isinstance(node, ast.ClassDef) else []
        roots = [*roots, *([node.value] if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else [])]
        performed = {
            id(inner)
            for root in roots
            for keyword in ast.walk(root)
            if isinstance(keyword, ast.keyword) and keyword.arg == "performs"  # another action of the row
            for inner in ast.walk(keyword)
        }
        parts = [inner for root in roots for inner in ast.walk(root) if id(inner) not in performed]
        self.arguments = _constants(value for part in parts if isinstance(part, ast.Call) for value in part.args)
        self.elements = _constants(value for part in parts for value in _elements(part))
        self.compared = _constants(
            value
            for part in ast.walk(node)
            if isinstance(part, ast.Compare | ast.MatchValue)
            for value in ast.walk(part)
        )
        self.names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}

    def holds(self, action: str, *, is_row: bool) -> bool:
        """Whether the definition holds the type in a row, a table or a comparison."""
        if not is_row and "_" not in action:
            return False
        return (is_row and action in self.arguments) or action in self.elements or action in self.compared


def _constants(values: Iterable[ast.AST]) -> set[str]:
    return {v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)}


def _elements(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts
    return [key for key in node.keys if key] if isinstance(node, ast.Dict) else []


def _is_string(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    parser.add_argument("--verbose", action="store_true", help="list what the figures count")
    options = parser.parse_args()
    modules = load(options.root)
    graph = import_graph(modules)
    sizes = [module.lines for module in modules.values()]
    importers = Counter(target for targets in graph.values() for target in targets)
    single = sorted(name for name, count in importers.items() if count == 1)
    knots = cycles(graph)
    reused = reused_class_names(modules)
    places = action_places(modules)
    busiest = max(places, key=lambda name: len(places[name]))
    print(f"modules                               {len(modules)}")
    print(f"lines                                 {sum(sizes)}")
    print(f"modules with one importer             {len(single)}")
    print(f"import cycles, type-only included     {len(knots)} (largest {len(knots[0]) if knots else 0})")
    print(f"reused public class names             {len(reused)}")
    print(f"places per action, at most            {len(places[busiest])} ({busiest})")
    if options.verbose:
        for name in single:
            print(f"  one importer: {name} ({modules[name].lines} lines)")
        for knot in knots:
            print(f"  cycle of {len(knot)}: {', '.join(knot)}")
        for name, found in reused.items():
            print(f"  {name}: {', '.join(found)}")
        for name, named in places.items():
            print(f"  {name}: {', '.join(sorted(named))}")
    return 1 if knots or len(places[busiest]) > MOST_PLACES else 0


if __name__ == "__main__":
    sys.exit(main())

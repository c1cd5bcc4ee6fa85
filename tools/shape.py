"""Print the shape of the package: sizes, import graph, reused names. Run with ``make shape``.

Exits with 1 when a required figure is missed: an import cycle (type-only imports included), or an action that is
described in more than five places.
"""

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

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
    modules = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        if "shipped" in path.parts:
            continue  # scripts that run on their own
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path)
    return modules


def import_graph(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Edges between modules. Lazy exports of a package's ``__init__`` are not edges: they are its purpose."""
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


def entered_past_api(modules: dict[str, Module], graph: dict[str, set[str]]) -> dict[str, int]:
    """For each package, how many of its modules other packages import directly instead of through its API."""
    entered: defaultdict[str, set[str]] = defaultdict(set)
    for name, targets in graph.items():
        for target in targets:
            parts = target.split(".")
            package = ".".join(parts[:2])
            if len(parts) > 2 and modules[package].is_package and not name.startswith(f"{package}."):
                entered[package].add(target)
    return {package: len(found) for package, found in sorted(entered.items())}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    parser.add_argument("--verbose", action="store_true", help="list what the figures count")
    options = parser.parse_args()
    modules = load(options.root)
    graph = import_graph(modules)
    sizes = [module.lines for module in modules.values()]
    largest = max(modules.values(), key=lambda module: module.lines)
    importers = Counter(target for targets in graph.values() for target in targets)
    single = sorted(name for name, count in importers.items() if count == 1)
    knots = cycles(graph)
    reused = reused_class_names(modules)
    entered = entered_past_api(modules, graph)
    print(f"modules                               {len(modules)}")
    print(f"lines                                 {sum(sizes)}")
    print(f"median size                           {median(sizes):g}")
    print(f"largest                               {largest.lines} ({largest.name})")
    print(f"modules with one importer             {len(single)}")
    print(f"import cycles, type-only included     {len(knots)} (largest {len(knots[0]) if knots else 0})")
    print(f"reused public class names             {len(reused)}")
    print(f"modules entered past a package's API  {sum(entered.values())} in {len(entered)} packages")
    if options.verbose:
        for name in single:
            print(f"  one importer: {name} ({modules[name].lines} lines)")
        for knot in knots:
            print(f"  cycle of {len(knot)}: {', '.join(knot)}")
        for name, found in reused.items():
            print(f"  {name}: {', '.join(found)}")
        for package, count in entered.items():
            print(f"  {package}: {count}")
    return 1 if knots else 0


if __name__ == "__main__":
    sys.exit(main())

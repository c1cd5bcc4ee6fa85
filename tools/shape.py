"""Print the shape of the package: lines per package, traced flows, import graph. Run with ``make shape``.

Exits with 1 when there is an import cycle (type-only imports included), with ``--strict`` also when a flow exceeds
its limit. ``tools/executed_modules.py`` states what the figures of a flow count.
"""

import argparse
import ast
import gc
import io
import signal
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from tools.executed_modules import FLOWS, PACKAGE, Flow, Measured, measure_flows

Sizes = dict[str, tuple[int, int]]


class Module:
    """A parsed source file and the modules of the package that it imports."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
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
    named = ((_module_name(path.relative_to(root)), path) for path in sorted((root / PACKAGE).rglob("*.py")))
    return {name: Module(name, path) for name, path in named if name}


def _module_name(path: PurePath) -> str:
    """The name of the module in a file; empty for the shipped skills, which are scripts."""
    parts = path.with_suffix("").parts
    return "" if "shipped" in parts else ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def package_sizes(lines: Iterable[tuple[str, int]]) -> Sizes:
    """The number of modules and of lines of each package, from the lines of each module."""
    sizes: Sizes = {}
    counted = dict(lines)
    packages = {name.split(".")[1] for name in counted if name.count(".") > 1}
    for name, count in counted.items():
        package = next((part for part in name.split(".")[1:2] if part in packages), "(top)")
        modules, before = sizes.get(package, (0, 0))
        sizes[package] = modules + 1, before + count
    return sizes


def lines_at(commit: str, root: Path) -> Iterator[tuple[str, int]]:
    """The modules of the package in a commit, each with its lines."""
    command = ["git", "archive", commit, PACKAGE]
    archived = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, timeout=60, check=False)  # noqa: S603
    if archived.returncode:
        raise SystemExit(f"cannot read the package of commit {commit!r}")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
        for member in files:
            file = files.extractfile(member)
            name = _module_name(PurePath(member.name)) if member.name.endswith(".py") else ""
            if file is not None and name:
                yield name, file.read().count(b"\n")


def print_sizes(sizes: Sizes, since: str, before: Sizes) -> None:
    print(f"{'package':12} {'modules':>8} {'lines':>8}" + (f"    since {since}" if since else ""))
    everything = {**before, **sizes}
    for name in (*sorted(everything), "in all"):
        now, then = (_total(one) if name == "in all" else one.get(name, (0, 0)) for one in (sizes, before))
        growth = f" {now[0] - then[0]:+8} {now[1] - then[1]:+8}" if since else ""
        print(f"{name:12} {now[0]:8} {now[1]:8}{growth}")


def _total(sizes: Sizes) -> tuple[int, int]:
    return sum(modules for modules, _ in sizes.values()), sum(lines for _, lines in sizes.values())


def print_flows() -> bool:
    """Measure and print the flows. Returns whether all are within their limits."""
    print(f"\n{'flow':24} {'executed':>8} {'imported':>8} {'calls':>8}    limit")
    kept = True
    for flow, measured in measure_flows(FLOWS):
        limit, is_kept = check_limit(flow, measured)
        print(f"{flow.name:24} {measured.executed:8} {measured.imported:8} {measured.calls:8}    {limit}".rstrip())
        kept = kept and is_kept
    return kept


# Why an operation is not at an entry point, by the first word of its name or its whole name.
_NO_ROUTE = {
    "recording replay": "by hand: the page saves the result beside the recording",
    "skills": "for authors of skills, at a command line",
    "operator": "sets up this computer and its devices",
    "setup": "sets up this computer and its devices",
    "grant-device-permissions": "sets up this computer and its devices",
    "version": "GET /health has the version",
}
_NOT_FOR_MODELS = "claw exec-tool only: the tools of models are short"
_COMMAND_LINE_ONLY = "prints while it runs, reads the terminal, or serves"


def missing_operations() -> Iterator[tuple[str, str, str]]:
    """The operations that an entry point does not have: entry point, names, reason."""
    from clawperator.operations.model import all_operations

    rows = [row for row in all_operations() if not row.is_alias]
    missing = [("tools and routes", row.name, _COMMAND_LINE_ONLY) for row in rows if row.is_cli_only]
    rest = [row for row in rows if not row.is_cli_only]
    missing += [("models", row.name, _NOT_FOR_MODELS) for row in rest if not row.tool]
    missing += [
        ("HTTP", row.name, _NO_ROUTE.get(row.name) or _NO_ROUTE[row.name.split()[0]])
        for row in rest
        if not row.route
    ]
    for place, reason in dict.fromkeys((place, reason) for place, _, reason in missing):
        yield place, ", ".join(name for one, name, why in missing if (one, why) == (place, reason)), reason


def check_limit(flow: Flow, measured: Measured) -> tuple[str, bool]:
    """The limits of a flow with the verdict, and whether it is within them."""
    limits = (
        (measured.executed, flow.most_modules, "modules executed"),
        (measured.calls, flow.most_calls, "calls"),
    )
    given = [(value, most, what) for value, most, what in limits if most is not None]
    parts = [f"{most} {what}: {'ok' if value <= most else 'missed'}" for value, most, what in given]
    return ", ".join(parts), all(value <= most for value, most, _ in given)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    parser.add_argument("--since", default="", metavar="COMMIT", help="print the growth since this commit")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a flow exceeds its limit")
    parser.add_argument("--verbose", action="store_true", help="list what the figures count")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit, so that the phone is stopped
    modules = load(options.root)
    before = package_sizes(lines_at(options.since, options.root)) if options.since else {}
    print_sizes(package_sizes((name, one.lines) for name, one in modules.items()), options.since, before)
    is_kept = print_flows()
    print("\noperations that are missing at an entry point")
    for place, names, reason in missing_operations():
        print(f"  {place}: {names} ({reason})")
    graph = import_graph(modules)
    importers = Counter(target for targets in graph.values() for target in targets)
    single = sorted(name for name, count in importers.items() if count == 1)
    knots = cycles(graph)
    reused = reused_class_names(modules)
    print(f"\nmodules with one importer             {len(single)}")
    print(f"import cycles, type-only included     {len(knots)} (largest {len(knots[0]) if knots else 0})")
    print(f"reused public class names             {len(reused)}")
    if options.verbose:
        for name in single:
            print(f"  one importer: {name} ({modules[name].lines} lines)")
        for knot in knots:
            print(f"  cycle of {len(knot)}: {', '.join(knot)}")
        for name, found in reused.items():
            print(f"  {name}: {', '.join(found)}")
    return 1 if knots or (options.strict and not is_kept) else 0


if __name__ == "__main__":
    sys.exit(main())

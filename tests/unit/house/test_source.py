"""Rules of the house that no linter knows: sizes, handlers, shells, hosts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.unit.house.source import CHECKOUT, modules, nodes, tree, where, written_files

MAX_FILE_LINES = 600
BASES_FOR_A_REASON = {"ConfirmScreen", "PromptScreen"}
"""Shown by itself too."""
MAX_FUNCTION_LINES = 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BROAD = {"Exception", "BaseException"}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}

# Put together here, so that this file doesn't name what no file may name.
HOSTS = (
    "py" + "pi.",
    "python" + "hosted.",
    "debian" + ".org",
    "ubuntu" + ".com",
    "conda" + ".",
    "--index" + "-url",
    "index" + "_url",
)


def swallowing_handlers(found: Iterable[ast.AST]) -> Iterator[ast.ExceptHandler]:
    """Give the handlers that catch everything and do not end by raising it again."""
    for node in found:
        if isinstance(node, ast.ExceptHandler):
            last = node.body[-1]
            raises_again = isinstance(last, ast.Raise) and last.exc is None
            if is_broad(node.type) and not raises_again:
                yield node


def is_broad(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(name, ast.Name) and name.id in BROAD for name in kinds)


def shell_calls(found: Iterable[ast.AST]) -> Iterator[ast.expr | ast.keyword]:
    for node in found:
        if isinstance(node, ast.keyword) and node.arg == "shell":
            yield node
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and f"{node.value.id}.{node.attr}" in SHELLS
        ):
            yield node


def test_files_are_short():
    long = [str(path) for path in modules() if len(path.read_text().splitlines()) > MAX_FILE_LINES]
    assert not long, f"over {MAX_FILE_LINES} lines"


def test_no_class_is_made_only_to_split_another():
    bases: dict[str, list[tuple[str, Path]]] = {}
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                for base in node.bases:
                    bases.setdefault(ast.unparse(base).split("[")[0], []).append((node.name, path))
    bodies = (tree(path).body for path in modules() if path.parent.name == "screens")
    made = {node.name for body in bodies for node in body if isinstance(node, ast.ClassDef)}
    only = {name: heirs for name, heirs in bases.items() if name in made and len(heirs) == 1}
    assert not set(only) - set(BASES_FOR_A_REASON), f"one subclass each: {only}"


def test_functions_are_short():
    long = [
        f"{where(path, node)} {node.name}"
        for path in modules()
        for node in nodes(path)
        if isinstance(node, FUNCTIONS) and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert not long, f"over {MAX_FUNCTION_LINES} lines: {long}"


def test_no_handler_swallows_everything():
    broad = [where(path, node) for path in modules() for node in swallowing_handlers(nodes(path))]
    assert not broad


def test_no_program_runs_through_a_shell():
    calls = [where(path, node) for path in modules() for node in shell_calls(nodes(path))]
    assert not calls


def test_a_shell_and_a_swallowing_handler_would_be_seen():
    handlers = "try: pass\nexcept (OSError, Exception): pass\ntry: pass\nexcept: pass\n"
    assert len(list(swallowing_handlers(ast.walk(ast.parse(handlers))))) == 2
    assert not list(swallowing_handlers(ast.walk(ast.parse("try: pass\nexcept BaseException:\n  x()\n  raise"))))
    text = "run('ls', shell=True)\nos.system('ls')\nsubprocess.getoutput('ls')"
    assert len(list(shell_calls(ast.walk(ast.parse(text))))) == 3


def test_no_file_names_a_registry_or_a_mirror():
    texts = ((path, text_of(path).lower()) for path in written_files())
    named = [f"{path.relative_to(CHECKOUT)}: {host}" for path, text in texts for host in HOSTS if host in text]
    assert not named


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def test_only_one_function_starts_python():
    """python_argv() isolates each child; the cage binds the interpreter's directory."""
    named = {where(path, node).partition(":")[0] for path in modules() for node in nodes(path) if is_interpreter(node)}
    assert named == {"fsconsole/system/isolation.py", "fsconsole/workloads/builtin.py"}


def is_interpreter(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.executable", "sys._base_executable"}

"""The project as a whole: what a start loads, what lies at the top of a checkout, and that README's lines are CI's."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench
from workbench.cli.main import _COMMANDS

ROOT = Path(__file__).resolve().parents[1]
needs_local = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="the extra 'local' is not installed"
)
TOP_LEVEL = {"pyproject.toml", "workbench", "tests", "screenshots", "sample_data", "README.md"}

# Prints the program's own answer, then which modules came from outside of Python and of this package.
FOREIGN_MODULES = """
import runpy, sys
before = set(sys.modules)
sys.argv = ["workbench", {argument!r}]
try:
    runpy.run_module("workbench", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
foreign = sorted(name for name in loaded - set(sys.stdlib_module_names) if name not in ("workbench", "__main__"))
print("code", code)
print("foreign", *foreign)
"""


def _start(argument: str) -> list[str]:
    """Run one argument in a fresh interpreter and return the lines that it printed."""
    script = FOREIGN_MODULES.format(argument=argument)
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, stdin=subprocess.DEVNULL
    )
    return ended.stdout.splitlines()


def test_the_version_is_answered_without_loading_any_third_party_module() -> None:
    assert _start("--version") == [f"workbench {workbench.__version__}", "code 0", "foreign"]


def test_the_help_is_answered_without_the_screen_the_database_and_numpy() -> None:
    *_, code, foreign = _start("--help")
    assert code == "code 0"
    assert not {"textual", "rich", "duckdb", "_duckdb", "numpy"} & set(foreign.split())


def test_importing_the_library_loads_nothing_but_itself() -> None:
    script = "import sys, workbench; print(*[m for m in sys.modules if m in ('duckdb', 'numpy', 'textual', 'orjson')])"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout.strip() == ""


def test_using_the_library_never_loads_the_screen() -> None:
    script = (
        "import sys, workbench\n"
        "for name in workbench.__all__: getattr(workbench, name)\n"
        "print(*[m for m in sys.modules if m.partition('.')[0] in ('textual', 'rich')])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout.strip() == ""


@pytest.mark.parametrize("name", workbench.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(workbench, name) is not None
    assert name in dir(workbench)


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout")
def test_the_top_of_the_checkout_holds_exactly_what_it_should() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()
    tops = {name.partition("/")[0] for name in listed}
    assert {name for name in tops if not name.startswith(".")} == TOP_LEVEL


def test_the_readme_begins_with_one_line_that_opens_the_sample_and_one_that_passes_the_tests() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^python3 -m venv --upgrade-deps \.venv && .*$", readme, flags=re.MULTILINE)
    assert len(lines) == 2
    assert "workbench open sample_data" in lines[0]
    assert "-m pytest" in lines[1]


def test_ci_runs_the_readme_line_and_every_check() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for step in ("README.md", "ruff format --check", "ruff check", "mypy", "lint-imports"):
        assert step in script


def test_the_readme_example_runs_twice_in_one_folder(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    shutil.copy(ROOT / "sample_data" / "index.duckdb", tmp_path / "index.duckdb")
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    said = [
        subprocess.run(
            [sys.executable, "example.py"],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
    assert "handbook" in said[0]
    assert said[0].endswith("model my-embedder@2 another@2\n")
    (tmp_path / "index.duckdb").unlink()
    missing = subprocess.run(
        [sys.executable, "example.py"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "index.duckdb" in missing.stdout


@pytest.mark.parametrize("command", ["check", "search", "show", pytest.param("reindex", marks=needs_local)])
def test_what_the_readme_calls_a_verdict_is_what_the_program_says(command: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(rf"^\$ workbench ({command} sample_data/.*)\n((?:.*\n)*?)```", readme, flags=re.MULTILINE)
    assert shown is not None
    assert shown[2]
    # As it is without the extras, which the README's first command does not install; a re-index needs one.
    extras = "" if command == "reindex" else "sys.modules['tokenizers'] = None; "
    plain = f"import sys; {extras}from workbench.__main__ import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", plain, *shown[1].split()],
        capture_output=True,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert ended.stdout.decode("utf-8") == shown[2]


def test_the_readme_says_of_every_command_what_its_help_says_and_gives_an_example() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `workbench ([a-z]+)[^`]*` \| (.*) \|$", readme, flags=re.MULTILINE)
    assert listed == list(_COMMANDS.items())
    for name in _COMMANDS:
        assert re.search(rf"^workbench {name}\b", readme, flags=re.MULTILINE)


def test_every_picture_in_the_readme_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\(screenshots/([^)]+)\)", readme)
    assert pictures
    assert all((ROOT / "screenshots" / name).is_file() for name in pictures)

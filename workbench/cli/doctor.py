"""`workbench doctor`: what is installed, what the terminal can do, and where things are kept."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import locale
import os
import platform
import shutil
import sys
from dataclasses import dataclass

import click

from workbench import __version__
from workbench.cli import crash, options
from workbench.cli.output import Sign, is_terminal, stdout

_NEEDED = ("textual", "duckdb", "numpy", "orjson", "click", "platformdirs")
_OPTIONAL = (("local", "wordllama", ("wordllama",)), ("minilm", "minilm", ("onnxruntime", "tokenizers")))
_VARIABLES = ("TERM", "COLORTERM", "NO_COLOR", "TERM_PROGRAM", "TEXTUAL_THEME", "SSH_CONNECTION", "TMUX")


@dataclass(frozen=True, slots=True)
class _Part:
    """An optional part: the extra that brings it, the embedder it is for, and whether all it needs is there."""

    extra: str
    embedder: str
    installed: bool


@click.command("doctor")
@options.json_output
def command(as_json: bool) -> int:
    """Print versions, terminal, colours, paths, and which optional parts are installed."""
    report = _report()
    out = stdout()
    if as_json:
        out.json_document(report)
        return 0
    for title, facts in report.items():
        out.line(title)
        for name, fact in facts.items():
            out.line(f"  {name:<16} {_said(fact)}")
    for part in _parts():
        if not part.installed:
            out.verdict(
                Sign.NOTE, f"{part.embedder} is not installed; it comes with the extra '{part.extra}'", indent=0
            )
    return 0


def _report() -> dict[str, dict[str, object]]:
    size = shutil.get_terminal_size((80, 24))
    return {
        "versions": {
            "workbench": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in _NEEDED},
            "sqlite": _sqlite(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "terminal": {
            "stdin": is_terminal(sys.stdin),
            "stdout": is_terminal(sys.stdout),
            "size": f"{size.columns}x{size.lines}",
            "encoding": None if sys.stdout is None else sys.stdout.encoding,
            "locale": locale.setlocale(locale.LC_CTYPE),
            "colours": _colours(),
            **{name: os.environ[name] for name in _VARIABLES if name in os.environ},
        },
        "paths": _paths(),
        "optional parts": {part.embedder: part.installed for part in _parts()},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _sqlite() -> str:
    import sqlite3

    return sqlite3.sqlite_version


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "none (NO_COLOR)"
    if os.environ.get("TERM") == "dumb":
        return "none (TERM=dumb)"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million"
    return "256" if "256" in os.environ.get("TERM", "") else "16"


def _paths() -> dict[str, object]:
    import platformdirs

    return {
        "program": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "configuration": str(platformdirs.user_config_path("workbench", appauthor=False) / "workbench.toml"),
        "cache": str(platformdirs.user_cache_path("workbench", appauthor=False)),
        "crash log": str(crash.log_path()),
    }


def _parts() -> tuple[_Part, ...]:
    return tuple(
        _Part(extra, embedder, all(importlib.util.find_spec(module) is not None for module in modules))
        for extra, embedder, modules in _OPTIONAL
    )


def _said(fact: object) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return "not found" if fact is None else str(fact)

"""`workbench doctor`: what is installed, what the terminal can do, and where things are kept."""

from __future__ import annotations

import importlib.metadata
import locale
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Mapping

import click

from workbench import __version__
from workbench.cli import crash, options
from workbench.cli.doctor_embedders import EmbedderReport, fact_text, report_embedders
from workbench.cli.output import Output, Sign, is_terminal, stdout
from workbench.embedders.opening import LOCAL, is_installed

_COLUMN = 19
"""Where what is said of a name begins."""

_NEEDED = ("textual", "duckdb", "numpy", "orjson", "click", "platformdirs")
_VARIABLES = ("TERM", "COLORTERM", "NO_COLOR", "TERM_PROGRAM", "TEXTUAL_THEME", "SSH_CONNECTION", "TMUX")


@click.command("doctor")
@click.option(
    "--probe", "probed", metavar="EMBEDDER", help="Measure how much of a text this embedder reads, by asking it."
)
@click.option("--yes", is_flag=True, help="With --probe: send the texts without a question.")
@options.json_output
def command(probed: str | None, yes: bool, as_json: bool) -> int:
    """Print versions, terminal, colours, paths, and which optional parts are installed.

    With --probe, measure the ceiling of an embedder instead: exit code 1 when it reads less than it is said to.
    """
    if probed is not None:
        from workbench.cli.doctor_probe import probe

        return probe(probed, yes=yes, as_json=as_json)
    if yes:
        raise click.UsageError("--yes goes with --probe EMBEDDER")
    embedders = report_embedders()
    report = _report(embedders)
    out = stdout()
    if as_json:
        out.json_document({**report, "remarks": [remark.text for remark in embedders.remarks]})
        return _exit_code(embedders)
    for title, facts in report.items():
        out.line(title)
        for name, fact in facts.items():
            _say(out, name, _said(fact))
    for remark in embedders.remarks:
        out.verdict(Sign.ERROR if remark.serious else Sign.NOTE, remark.text, indent=0)
    for part in LOCAL:
        if not is_installed(part):
            out.verdict(Sign.NOTE, f"{part.name} is not installed; it comes with the extra '{part.extra}'", indent=0)
    return _exit_code(embedders)


def _say(out: Output, name: str, said: str) -> None:
    """Write a fact behind its name; sentences go on in the next line, paths stay whole, so that they can be copied."""
    room = max(20, out.width - _COLUMN)
    first, *rest = textwrap.wrap(said, room, break_long_words=False, break_on_hyphens=False) if " " in said else [said]
    out.line(f"  {name:<16} {first}")
    out.paragraph(rest, indent=_COLUMN)


def _exit_code(embedders: EmbedderReport) -> int:
    return 1 if any(remark.serious for remark in embedders.remarks) else 0


def _report(embedders: EmbedderReport) -> dict[str, Mapping[str, object]]:
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
        "optional parts": {part.name: is_installed(part) for part in LOCAL},
        "configuration": embedders.files,
        "embedders": embedders.embedders,
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


def _said(fact: object) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return "not found" if fact is None else fact_text(fact)

"""`workbench open`: the terminal workbench, which needs a terminal on both ends."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from workbench.cli import options
from workbench.cli.output import Sign, is_terminal, stderr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.core.fingerprint import Fingerprint


@click.command("open")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", callback=options.read_path)
@options.incoming
@options.max_chunk_chars
@click.option("--namespace", metavar="NAME", help="Show this namespace first.")
@click.option("--theme", metavar="NAME", help="A theme by name; the palette inside lists them.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII signs only.")
def command(
    paths: tuple[str, ...],
    incoming: Fingerprint | None,
    max_chunk_chars: int | None,
    namespace: str | None,
    theme: str | None,
    ascii_only: bool,
) -> int:
    """Open indexes, recordings, routing logs and folders in the terminal. Options only preset what the screens show."""
    return run_workbench(
        paths,
        incoming=incoming,
        explicit_ceiling=max_chunk_chars,
        namespace=namespace,
        theme=theme,
        ascii_only=ascii_only,
    )


def run_workbench(
    paths: Sequence[str],
    *,
    incoming: Fingerprint | None = None,
    explicit_ceiling: int | None = None,
    namespace: str | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
) -> int:
    """Run the terminal program and give its exit code; 2 without a terminal, naming the command to use instead."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        instead = shlex.join(["workbench", "check", *paths])
        stderr().verdict(Sign.ERROR, f"the workbench needs a terminal to draw on; use instead: {instead}", indent=0)
        return 2
    from workbench.tui import collector

    collector.hold_back()
    from workbench.tui.app import known_themes, run

    if theme is not None and theme not in known_themes():
        listed = ", ".join(known_themes())
        raise click.UsageError(f"there is no theme {theme}; the palette inside shows them, and there are: {listed}")
    return run(
        paths=paths,
        incoming=incoming,
        explicit_ceiling=explicit_ceiling,
        namespace=namespace,
        theme=theme,
        ascii_only=ascii_only,
    )

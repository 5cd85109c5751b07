"""`workbench demo`: the sample indexes, recordings and routing log, copied to a folder of the user's and opened."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from workbench.cli.open import run_workbench
from workbench.cli.output import Sign, is_terminal, stdout

_DEFAULT = "workbench-demo"
_SAMPLES = ("*.duckdb", "*.jsonl", "recordings/*.json", "recordings/*.jsonl")


def sample_folder() -> Path:
    """Find the sample data: beside the package in a checkout, else where the installation put it.

    Raises click.ClickException when this installation came without it.
    """
    checkout = Path(__file__).resolve().parents[2] / "sample_data"
    if checkout.is_dir():
        return checkout
    from importlib import metadata

    try:
        installed = metadata.files("vector-workbench") or []
    except metadata.PackageNotFoundError:
        installed = []
    for file in installed:
        if file.match("vector-workbench/sample_data/index.duckdb"):
            return Path(file.locate()).resolve().parent
    raise click.ClickException("this installation came without the sample data; get it from the project's repository")


def copy_samples(target: Path) -> tuple[Path, ...]:
    """Copy the sample files into a folder, which is made; nothing that is there is ever overwritten.

    Raises click.UsageError when one of the names is taken or the folder cannot be written.
    """
    folder = sample_folder()
    samples = sorted(path.relative_to(folder) for pattern in _SAMPLES for path in folder.glob(pattern))
    if target.exists() and not target.is_dir():
        raise click.UsageError(f"{target} is no folder; name another one: workbench demo DIR")
    taken = [path for path in samples if os.path.lexists(target / path)]
    if taken:
        raise click.UsageError(
            f"{target} already holds {taken[0]}, and nothing is overwritten; open it with: workbench open {target}, "
            "or name another folder: workbench demo DIR"
        )
    try:
        copied = tuple(_copy(folder / path, target / path) for path in samples)
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    return copied


def _copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as original, target.open("xb") as copy:
        shutil.copyfileobj(original, copy)
    return target


@click.command("demo")
@click.argument("folder", metavar="[DIR]", default=_DEFAULT)
def command(folder: str) -> int:
    """Write sample indexes, recordings and a routing log to DIR, else workbench-demo; on a terminal, open them too."""
    copied = copy_samples(Path(folder))
    out = stdout()
    out.verdict(Sign.OK, f"{len(copied)} sample files are in {folder}", indent=0)
    if is_terminal(sys.stdin) and is_terminal(sys.stdout):
        return run_workbench([folder])
    out.line(f"   to see what is wrong with them: {shlex.join(['workbench', 'check', folder])}")
    return 0

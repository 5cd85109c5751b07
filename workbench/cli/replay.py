"""`workbench replay`: a routing log call by call, held against the machine that it should have followed."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import click

from workbench.cli import options
from workbench.cli.output import Sign, stderr, stdout

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.core.routing import RoutingDialect
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.opening import ReplayedLog
    from workbench.routing.stepping import Asked

_DOCUMENTED = "documented"


def _read_number(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise click.BadParameter(f"'{value}' is no number")
    return number


def _read_dialect(_ctx: click.Context, _param: click.Parameter, value: str | None) -> RoutingDialect | None:
    from workbench.core.routing import RoutingDialect

    if value is None:
        return None
    known = {field.name.replace("_", "-"): field.name for field in dataclasses.fields(RoutingDialect)}
    switched = {}
    for name in (part.strip().replace("_", "-") for part in value.split(",")):
        if name in known:
            switched[known[name]] = True
        elif name not in (_DOCUMENTED, ""):
            raise click.BadParameter(f"'{name}' is no dialect; they are {_DOCUMENTED}, {', '.join(known)}")
    return RoutingDialect(**switched)


@click.command("replay")
@click.argument("log", metavar="LOG", callback=options.read_path)
@click.option(
    "--failure-streak-threshold", "threshold", metavar="N", callback=_read_number,
    help="Failures in a row that open the window, instead of what the log says.",
)  # fmt: skip
@click.option(
    "--cooldown-ms", metavar="N", callback=_read_number,
    help="How long the primary is then skipped, instead of what the log says.",
)  # fmt: skip
@click.option(
    "--dialect", metavar="NAMES", callback=_read_dialect,
    help="Readings of the contract, by comma: documented, opens-above-threshold, zeroes-streak-on-open, "
    "circuit-open-starts-cooldown, null-counts-as-failure, abort-passes-through.",
)  # fmt: skip
@click.option(
    "--primary", metavar="NAME",
    help="Who is asked first (a model group, a model, an address), where a log of another program leaves a doubt.",
)  # fmt: skip
@click.option("--index", "indexes", multiple=True, metavar="INDEX", help="Look the keys up in it; may be repeated.")
@click.option("--keys", "only_keys", is_flag=True, help="Write only the keys to embed again, one a line.")
@options.json_output
def command(
    log: str,
    threshold: float | None,
    cooldown_ms: float | None,
    dialect: RoutingDialect | None,
    primary: str | None,
    indexes: tuple[str, ...],
    only_keys: bool,
    as_json: bool,
) -> int:
    """Show which calls the fallback served, when the window opened, and what was written into the wrong space.

    Exit code 0: clean. 1: something was contaminated, or the log diverges from the machine. 2: not readable, or wrong
    usage.
    """
    from workbench.cli.waiting import interruptible
    from workbench.index.problems import SourceError
    from workbench.routing.opening import UnreadableLog
    from workbench.routing.stepping import Asked

    if only_keys and as_json:
        raise click.UsageError("--keys and --json are two answers: take --json, which holds the keys too")
    asked = Asked(threshold, cooldown_ms)
    try:
        replayed, rows = interruptible(lambda job: _replay(log, indexes, asked, dialect, primary, job))
    except (UnreadableLog, SourceError) as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return 2
    if as_json:
        from workbench.checkup.routing_json import replay_as_json

        stdout().json_document(replay_as_json(replayed, rows))
    else:
        from workbench.cli.replay_text import write_keys, write_replay

        if only_keys:
            write_keys(stdout(), replayed)
        else:
            write_replay(stdout(), replayed, rows)
    return replayed.replay.exit_code


def _replay(
    log: str, indexes: tuple[str, ...], asked: Asked, dialect: RoutingDialect | None, primary: str | None, job: Job
) -> tuple[ReplayedLog, tuple[ContaminatedRows, ...]]:
    if not indexes:
        from workbench.routing.opening import replay_file

        return replay_file(log, asked, dialect, primary=primary, checkpoint=job.checkpoint), ()
    # Imported here, in the thread that works: an interrupt in the middle of a driver's first import ends the process.
    from workbench.sources import replay_routing_log

    return replay_routing_log(log, indexes, asked, dialect, primary=primary, job=job)

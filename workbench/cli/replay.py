"""`workbench replay`: a routing log call by call, held against the machine that it should have followed."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import click

from workbench.cli import options
from workbench.cli.output import Sign, stderr, stdout

if TYPE_CHECKING:
    from workbench.core.routing import RoutingDialect
    from workbench.index.job import Job
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
@options.json_output
def command(
    log: str,
    threshold: float | None,
    cooldown_ms: float | None,
    dialect: RoutingDialect | None,
    primary: str | None,
    as_json: bool,
) -> int:
    """Show which calls the fallback served, when the window opened, and what was written into the wrong space.

    Exit code 0: clean. 1: something was contaminated, or the log diverges from the machine. 2: not readable, or wrong
    usage.
    """
    from workbench.cli.waiting import interruptible
    from workbench.routing.opening import UnreadableLog
    from workbench.routing.stepping import Asked

    asked = Asked(threshold, cooldown_ms)
    try:
        replayed = interruptible(lambda job: _replay(log, asked, dialect, primary, job))
    except UnreadableLog as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return 2
    if as_json:
        from workbench.checkup.routing_json import replay_as_json

        stdout().json_document(replay_as_json(replayed))
    else:
        from workbench.cli.replay_text import write_replay

        write_replay(stdout(), replayed)
    return replayed.replay.exit_code


def _replay(log: str, asked: Asked, dialect: RoutingDialect | None, primary: str | None, job: Job) -> ReplayedLog:
    from workbench.routing.opening import replay_file

    return replay_file(log, asked, dialect, primary=primary, checkpoint=job.checkpoint)

"""`workbench reindex`: a namespace built again with one embedder: planned, confirmed, built, verified, swapped."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from workbench.cli import options
from workbench.cli.output import Sign, is_terminal, stderr, stdout

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.embedders.protocol import BuildingProvider
    from workbench.reindex.model import Outcome, Plan, RunState, Settings
    from workbench.reindex.planning import Target

_REFUSED = 1
_UNREADABLE = 2
_RESUMABLE = 3

_CTRL_C = "interrupted"
_PATIENCE_S = 5.0
"""How long Ctrl-C waits for the answers that are under way, which are paid for; another one ends it at once."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line asks for."""

    index: str
    namespace: str | None
    embedder: str | None
    max_chunk_chars: int | None
    resplit: bool
    yes: bool
    max_cost: float | None
    no_swap: bool
    hnsw_metric: str | None
    as_json: bool


def _read_money(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        money = float(value)
    except ValueError:
        money = -1.0
    if not 0 <= money < float("inf"):
        raise click.BadParameter(f"'{value}' is not an amount in US dollars")
    return money


@click.command("reindex")
@click.argument("index", metavar="INDEX", callback=options.read_path)
@click.option("--namespace", metavar="NAME", help="Which namespace is built again.")
@click.option("--embedder", metavar="NAME", help="The embedder that it is built with.")
@options.max_chunk_chars
@click.option("--resplit", is_flag=True, help="Cut what is longer than the embedder reads, instead of clipping it.")
@click.option("--plan", "only_plan", is_flag=True, help="Say what would be done; nothing is sent or written.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--max-cost", metavar="USD", callback=_read_money, help="Pause before more than this is spent.")
@click.option("--no-swap", is_flag=True, help="Stop when it is verified; the old one goes on answering.")
@click.option(
    "--hnsw-metric",
    type=click.Choice(("cosine", "l2sq", "ip")),
    help="What the HNSW indexes of another program's file measure; they are left out, and how to make them is said.",
)
@click.option("--resume", is_flag=True, help="Go on with a build that stopped; pays only for what is missing.")
@click.option("--swap", "only_swap", is_flag=True, help="Put a verified build in place.")
@click.option("--rollback", is_flag=True, help="Let the generation before answer again.")
@click.option("--discard", is_flag=True, help="Drop an unfinished build, else the old generations.")
@click.option("--status", is_flag=True, help="List generations and what is unfinished.")
@options.json_output
def command(
    index: str,
    namespace: str | None,
    embedder: str | None,
    max_chunk_chars: int | None,
    resplit: bool,
    only_plan: bool,
    yes: bool,
    max_cost: float | None,
    no_swap: bool,
    hnsw_metric: str | None,
    resume: bool,
    only_swap: bool,
    rollback: bool,
    discard: bool,
    status: bool,
    as_json: bool,
) -> int:
    """Build a namespace again with one embedder; the living one answers until the new one has proved itself.

    Nothing is sent before --yes or a typed confirmation. Exit code 0: done. 1: refused. 2: wrong usage, or unreadable.
    3: stopped half-way; --resume goes on.
    """
    from workbench.index.model import SourceError
    from workbench.index.writing import WriteError
    from workbench.reindex.model import ReindexError

    ways = {"--plan": only_plan, "--resume": resume, "--swap": only_swap, "--rollback": rollback}
    ways |= {"--discard": discard, "--status": status}
    chosen = [name for name, given in ways.items() if given]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} ask for different things; give one of them")
    asked = _Asked(index, namespace, embedder, max_chunk_chars, resplit, yes, max_cost, no_swap, hnsw_metric, as_json)
    act = {
        "--plan": _plan_only,
        "--resume": _resume,
        "--swap": _swap,
        "--rollback": _roll_back,
        "--discard": _discard,
        "--status": _status,
    }.get(chosen[0] if chosen else "", _begin)
    try:
        return act(asked)
    except SourceError as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return _UNREADABLE
    except (ReindexError, WriteError) as error:
        stderr().verdict(Sign.ERROR, str(error), indent=0)
        return _REFUSED


def _plan_only(asked: _Asked) -> int:
    from workbench.cli.reindex_text import write_plan
    from workbench.reindex.as_json import plan_as_json

    target, plan = _planned(asked)
    if asked.as_json:
        stdout().json_document(plan_as_json(plan))
    else:
        write_plan(stdout(), plan, target.provider.host)
    return 0


def _begin(asked: _Asked) -> int:
    from workbench.cli.reindex_text import write_plan
    from workbench.cli.waiting import interruptible
    from workbench.reindex import running
    from workbench.reindex.planning import refuse_without_room

    target, plan = _planned(asked)
    write_plan(stderr() if asked.as_json else stdout(), plan, target.provider.host)
    refuse_without_room(asked.index, plan)
    if not asked.yes:
        _confirm(plan)
    _price(asked, target)

    def work(job: Job) -> str:
        return running.begin(
            asked.index,
            plan.namespace,
            target,
            resplit=asked.resplit,
            now_ms=_now_ms(),
            hnsw_metric=asked.hnsw_metric,
            job=job,
        )

    return _run(asked, interruptible(work), target)


def _price(asked: _Asked, target: Target) -> float | None:
    """Give the price of a million tokens; a cap that cannot be held is wrong usage."""
    if target.provider.host is None:
        return None
    price = None if target.entry is None else target.entry.price_usd
    if asked.max_cost is not None and price is None:
        raise click.UsageError(
            f"the price of '{target.name}' is not known, so --max-cost cannot be held; nothing was sent: leave it out, "
            "or use an embedder of the model table"
        )
    return price


def _resume(asked: _Asked) -> int:
    from workbench.reindex.planning import Target

    path, settings, _ = _one_unfinished(asked)
    name = asked.embedder or settings.embedder
    explicit = settings.max_chunk_chars if settings.ceiling_source == "explicit" else None
    target = Target(name, _opened(name), asked.max_chunk_chars or explicit)
    return _run(asked, path, target)


def _run(asked: _Asked, path: str, target: Target) -> int:
    from workbench.cli.embedders import Narration
    from workbench.cli.reindex_text import ProgressLine
    from workbench.cli.waiting import INTERRUPTED, Gently, interruptible
    from workbench.core.coroutines import run_in_job
    from workbench.reindex import running
    from workbench.reindex.building import Limits, Stop
    from workbench.reindex.model import RunState

    line, stop = ProgressLine(stderr()), Stop()
    controls = running.Controls(
        limits=Limits(max_cost_usd=asked.max_cost, price_usd=_price(asked, target)),
        swap=not asked.no_swap,
        on_progress=line.show,
        on_step=line.step,
        on_activity=Narration(),
        on_warning=line.warn,
        stop=stop,
        now_ms=_now_ms,
    )

    async def work() -> Outcome:
        try:
            return await running.run(asked.index, path, target, controls)
        finally:
            await target.provider.dispose()

    def farewell() -> None:
        line.end()
        _say_kept(path)

    gently = Gently(lambda: stop.ask(_CTRL_C), _PATIENCE_S, farewell)
    try:
        outcome = interruptible(lambda job: run_in_job(work, job), gently=gently)
    except KeyboardInterrupt:
        farewell()
        return INTERRUPTED
    finally:
        line.end()
    code = _say(asked, outcome)
    return INTERRUPTED if stop.reason == _CTRL_C and outcome.state is RunState.PAUSED else code


def _say_kept(path: str) -> None:
    import os

    said = f"what is built is kept in {path}; --resume goes on with it, --discard drops it"
    stderr().verdict(Sign.NOTE, f"interrupted: {said}" if os.path.exists(path) else "interrupted", indent=0)


def _say(asked: _Asked, outcome: Outcome) -> int:
    from workbench.cli.reindex_text import write_outcome
    from workbench.reindex.as_json import outcome_as_json
    from workbench.reindex.model import RunState

    if asked.as_json:
        stdout().json_document(outcome_as_json(outcome))
    else:
        write_outcome(stdout(), outcome)
    waits = outcome.state is RunState.VERIFIED and not asked.no_swap
    if outcome.state is RunState.PAUSED or waits:
        return _RESUMABLE
    return _REFUSED if outcome.state is RunState.FAILED else 0


def _swap(asked: _Asked) -> int:
    import asyncio

    from workbench.cli.reindex_text import ProgressLine
    from workbench.index.model import Problem, SourceError
    from workbench.index.writing import WriteError
    from workbench.reindex import running
    from workbench.reindex.swapping import ChangedMeanwhile, NotNow

    path, _, _ = _one_unfinished(asked)
    controls = running.Controls(now_ms=_now_ms, on_warning=ProgressLine(stderr()).warn)
    try:
        outcome = asyncio.run(running.swap_in(asked.index, path, None, controls))
    except ChangedMeanwhile as error:
        said = f"the namespace was written to meanwhile ({error}); --resume brings that in first"
    except SourceError as error:
        if error.problem is not Problem.LOCKED:
            raise
        said = f"not swapped: {error.message}; the build is kept, and --swap puts it in place then"
    except (WriteError, NotNow) as error:
        said = f"not swapped: {error}; the build is kept, and --swap puts it in place then"
    else:
        return _say(asked, outcome)
    stderr().verdict(Sign.WARNING, said, indent=0)
    return _RESUMABLE


def _roll_back(asked: _Asked) -> int:
    from workbench.cli.reindex_text import write_rolled_back
    from workbench.reindex import origins
    from workbench.reindex.generations import roll_back

    namespace = _one_namespace(asked)
    if origins.is_foreign(asked.index):
        return _put_back(asked, namespace)
    done = roll_back(asked.index, namespace, _now_ms())
    if asked.as_json:
        document = {"namespace": namespace, "state": "rolled-back", "generation": done.generation}
        stdout().json_document(
            {**document, "left": done.left, "written_since": list(done.written_since), "written": done.more_written}
        )
    else:
        write_rolled_back(stdout(), namespace, done)
    return 0


def _put_back(asked: _Asked, namespace: str) -> int:
    """Roll back a file of another program: said first is what would be out of sight."""
    from workbench.cli.reindex_text import write_put_back, write_to_be_put_back
    from workbench.reindex import foreign

    found = foreign.written_since(asked.index, namespace)
    write_to_be_put_back(stderr(), found)
    done = foreign.roll_back(asked.index, namespace)
    if asked.as_json:
        document = {"namespace": namespace, "state": "rolled-back", "generation": None, "left": None}
        written = {"written_since": list(done.written_since), "written": done.written, "deleted": done.gone}
        stdout().json_document({**document, **written, "file": done.put_aside})
    else:
        write_put_back(stdout(), namespace, done)
    return 0


def _discard(asked: _Asked) -> int:
    from workbench.reindex import leftovers, origins, running

    leftovers.remove_half_made(asked.index)
    found = running.unfinished(asked.index, asked.namespace)
    namespace = found[0][1].namespace if found else _one_namespace(asked)
    dropped = 0
    for path, _, _ in found:
        running.discard(asked.index, path)
    if not found:
        dropped = origins.drop_retired(asked.index, namespace)
    files = (*leftovers.tidy_orphans(asked.index), *leftovers.files_before(asked.index))
    for path in files:
        leftovers.remove_file(path)
    said = f"dropped the unfinished build of '{namespace}'" if found else f"dropped {dropped:,} old generations"
    if files:
        said += f", and {len(files):,} old files beside the index"
    if asked.as_json:
        document = {"namespace": namespace, "state": "discarded", "unfinished": len(found), "generations": dropped}
        stdout().json_document({**document, "files": list(files)})
    else:
        stdout().verdict(Sign.OK, said, indent=0)
    return 0


def _status(asked: _Asked) -> int:
    from workbench.cli.reindex_text import write_status
    from workbench.reindex import leftovers, running
    from workbench.reindex.as_json import status_as_json
    from workbench.reindex.origins import namespaces

    found, (under_way, in_use) = namespaces(asked.index), running.look(asked.index)
    left = leftovers.left_behind(asked.index)
    if asked.as_json:
        stdout().json_document(status_as_json(found, under_way, in_use, left))
    else:
        write_status(stdout(), found, under_way, in_use, left)
    return 0


def _planned(asked: _Asked) -> tuple[Target, Plan]:
    from workbench.cli.waiting import interruptible
    from workbench.reindex.planning import Target, plan

    namespace = _one_namespace(asked)
    if asked.embedder is None:
        raise click.UsageError("name the embedder that it is built with: --embedder NAME")
    target = Target(asked.embedder, _opened(asked.embedder), asked.max_chunk_chars)

    def work(job: Job) -> Plan:
        return plan(asked.index, namespace, target, resplit=asked.resplit, job=job)

    return target, interruptible(work)


def _opened(name: str) -> BuildingProvider:
    from workbench.cli.embedders import open_named

    return open_named(name)


def _one_namespace(asked: _Asked) -> str:
    from workbench.reindex.origins import namespaces

    names = [each.namespace for each in namespaces(asked.index)]
    if asked.namespace is not None:
        if asked.namespace not in names:
            raise options.unknown_namespace(asked.namespace, names)
        return asked.namespace
    if len(names) != 1:
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        raise click.UsageError(f"name one of its {len(names):,} namespaces with --namespace: {listed}")
    return names[0]


def _one_unfinished(asked: _Asked) -> tuple[str, Settings, RunState]:
    from workbench.reindex import running
    from workbench.reindex.model import ReindexError

    found = running.unfinished(asked.index, asked.namespace)
    if not found:
        raise ReindexError(
            f"there is no unfinished re-index beside {asked.index}"
            + (f" of namespace '{asked.namespace}'" if asked.namespace else "")
        )
    if len(found) > 1:
        raise click.UsageError(
            f"there are {len(found)} unfinished re-indexes; name one with --namespace, or drop those of "
            "one namespace with --discard"
        )
    return found[0]


def _confirm(plan: Plan) -> None:
    """Ask for the namespace's name, at a terminal only."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise click.UsageError("nothing was done: confirm at a terminal, or add --yes (a pipe cannot confirm)")
    typed = click.prompt(f"type {plan.namespace} to build it again", default="", show_default=False, err=True)
    if typed != plan.namespace:
        raise click.UsageError("nothing was done: that is not the name of the namespace")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

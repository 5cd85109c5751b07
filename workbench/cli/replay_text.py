"""A replayed routing log as text for people: what went wrong first, then its transitions, its ledger and its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.findings import Severity
from workbench.checkup.routing import rows_text
from workbench.checkup.routing_json import dialect_names
from workbench.checkup.routing_wording import config_text, contamination_fix, fit_text, moment, odd, verdicts
from workbench.checkup.wording import counted
from workbench.cli.output import Sign, Style

if TYPE_CHECKING:
    from workbench.cli.output import Output
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.ledger import LedgerRow
    from workbench.routing.opening import ReplayedLog
    from workbench.routing.replay import Replay

MOST_TRANSITIONS = 100
MOST_KEYS = 20
_MOST_PROBLEMS = 20
_NAME = 30

_SIGNS = {None: Sign.OK, Severity.ERROR: Sign.ERROR, Severity.WARNING: Sign.WARNING, Severity.INFO: Sign.UNKNOWN}


def write_keys(out: Output, replayed: ReplayedLog) -> None:
    """Write every key that has to be embedded again, one a line."""
    for key in dict.fromkeys(key for row in replayed.replay.ledger.rows for key in row.keys):
        out.line(key)


def write_replay(out: Output, replayed: ReplayedLog, joined: tuple[ContaminatedRows, ...] = ()) -> None:
    """Write everything, and one line of totals at the end."""
    replay = replayed.replay
    out.row(replayed.path, replayed.format)
    out.paragraph(_scope(replay), indent=2, style=Style.FAINT)
    for severity, sentence in verdicts(replay):
        out.verdict(_SIGNS[severity], sentence)
    fitted = fit_text(replay)
    if fitted is not None:
        out.verdict(Sign.NOTE, fitted)
    for sentence in odd(replay):
        out.verdict(Sign.NOTE, sentence)
    for problem in replay.problems[:_MOST_PROBLEMS]:
        out.verdict(Sign.WARNING, problem.message)
    if len(replay.problems) > _MOST_PROBLEMS:
        out.verdict(Sign.WARNING, f"and {len(replay.problems) - _MOST_PROBLEMS:,} more problems; --json has them all")
    _transitions(out, replay)
    for row in replay.ledger.rows:
        _namespace(out, row)
        for rows in joined:
            if rows.ledger == row:
                out.verdict(Sign.WARNING if rows.ids else Sign.NOTE, rows_text(rows))
    out.line()
    out.paragraph(_totals(replay), indent=0, style=Style.BOLD)


def _scope(replay: Replay) -> str:
    begun, ended = replay.call(1).at_ms, float(replay.columns.ended_ms.max())
    first, last = moment(begun, date=True), moment(ended, date=True)
    span = f"{first} to {moment(ended) if last[:10] == first[:10] else last} UTC"
    parts = [counted(replay.count, "call"), span, config_text(replay)]
    processes = len({each.instance for each in replay.calls.rows.shapes})
    if processes > 1:
        parts.append(f"{processes:,} processes")
    names = dialect_names(replay.dialect)
    if names:
        parts.append(f"dialect {', '.join(names)}")
    return ", ".join(parts)


def _transitions(out: Output, replay: Replay) -> None:
    if not replay.transitions:
        return
    out.line()
    out.row("Warnings", counted(len(replay.transitions), "warning"))
    for each in replay.transitions[:MOST_TRANSITIONS]:
        out.verdict(Sign.WARNING if each.warn.startswith("primary") else Sign.OK,
                    f"{moment(each.at_ms)}  call {each.n:,}  {each.warn}: {each.cause}")  # fmt: skip
    if len(replay.transitions) > MOST_TRANSITIONS:
        out.line(f"     and {len(replay.transitions) - MOST_TRANSITIONS:,} more; --json has them all", Style.FAINT)


def _namespace(out: Output, row: LedgerRow) -> None:
    out.line()
    out.row(f"Namespace {row.namespace}", row.fingerprint or "embedder not known")
    if row.assumed:
        out.paragraph("its embedder is assumed: the log does not state it, the primary makes this", indent=2,
                      style=Style.FAINT)  # fmt: skip
    if row.restated:
        out.verdict(Sign.WARNING, "the log states another embedder for it further on; the last stands above")
    for number, what in (
        (row.native, "native vectors"),
        (row.foreign_same_dims, "foreign vectors of the same length, silent"),
        (row.foreign_dims_mismatch, "foreign vectors of another length"),
        (row.missing, "documents missing"),
        (row.cross_space_queries, "queries asked across spaces"),
    ):
        out.line(f"  {number:>12,}  {what}", Style.PLAIN if number else Style.FAINT)
    for each in row.foreign:
        told = [counted(each.vectors, "vector")] if each.vectors else []
        told += [counted(each.queries, "query", "queries")] if each.queries else []
        out.line(f"                by {each.fingerprint}: {', '.join(told)}", Style.FAINT)
    if row.contaminated:
        out.paragraph(contamination_fix(row), indent=2, style=Style.FAINT)
    if row.keys:
        out.line(f"  Keys to embed again ({len(row.keys):,})")
        for key in row.keys[:MOST_KEYS]:
            out.line(f"     {key}")
        if len(row.keys) > MOST_KEYS:
            out.line(f"     and {len(row.keys) - MOST_KEYS:,} more; --keys writes them all", Style.FAINT)


def _totals(replay: Replay) -> str:
    columns = replay.columns
    by_fallback = int((columns.served == 2).sum())
    parts = [
        counted(replay.count, "call"),
        f"{by_fallback:,} served by the fallback",
        counted(len(replay.transitions), "warning"),
        counted(len(replay.divergences), "divergence"),
        f"{counted(sum(row.foreign_vectors for row in replay.ledger.rows), 'foreign vector')}",
    ]
    return ", ".join(parts)

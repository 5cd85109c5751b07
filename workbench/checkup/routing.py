"""What a routing log says of indexes: namespaces that a fallback contaminated, and the rows that hold its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.checkup.findings import Code, Finding
from workbench.checkup.report import SourceReport
from workbench.checkup.routing_wording import contamination, contamination_fix
from workbench.checkup.wording import counted, verb
from workbench.routing.opening import NATIVE

if TYPE_CHECKING:
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.ledger import LedgerRow
    from workbench.routing.opening import ReplayedLog

ROUTING_LOG = "routing-log"
"""The container of a routing log in ``check --json``."""

_LISTED = 3


def judge_routing(replayed: ReplayedLog, joined: Sequence[ContaminatedRows] = ()) -> tuple[Finding, ...]:
    """Give a finding for each namespace into which a fallback wrote, or in which it searched."""
    return tuple(
        Finding(
            Code.CONTAMINATED_BY_FALLBACK,
            ". ".join([contamination(row), *(rows_text(each) for each in joined if each.ledger == row)]),
            contamination_fix(row),
        )
        for row in replayed.replay.ledger.rows
        if row.contaminated
    )


def rows_text(rows: ContaminatedRows) -> str:
    """Say which rows of an index the keys of a ledger are."""
    if rows.source is None:
        return "No opened index has that namespace, nor these keys"
    where = f"namespace '{rows.namespace}' of {rows.source}"
    if not rows.ids:
        return f"None of the {counted(len(rows.ledger.keys), 'key')} is in {where} now"
    said = f"{counted(len(rows.ids), 'row')} of {where} {'is one' if len(rows.ids) == 1 else 'are'} of these keys"
    said += f": {_some(rows.ids)}"
    if rows.absent:
        said += f"; {counted(rows.absent, 'key')} {'is' if rows.absent == 1 else 'are'} not in it"
    if rows.not_looked_up:
        said += f"; {counted(rows.not_looked_up, 'key')} were not looked up"
    return said


def with_foreign_rows(report: SourceReport, joined: Sequence[ContaminatedRows]) -> SourceReport:
    """Note in the report on an index which of its rows the ledgers name; the finding stands with the log, once."""
    mine: dict[str, dict[str, None]] = {}
    for rows in joined:
        if rows.source == report.path and rows.namespace is not None and rows.ids:
            mine.setdefault(rows.namespace, {}).update(dict.fromkeys(rows.ids))
    if not mine:
        return report
    namespaces = (
        replace(each, notes=(*each.notes, _foreign_note(list(mine[each.name])))) if each.name in mine else each
        for each in report.namespaces
    )
    return replace(report, namespaces=tuple(namespaces))


def _foreign_note(ids: list[str]) -> str:
    # Told as the log tells it: whether they were embedded again since, it does not know.
    written = verb(len(ids), "was", "were")
    return f"a routing log tells that {counted(len(ids), 'row')} {written} written by another embedder: {_some(ids)}"


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _LISTED:,} more" if len(ids) > _LISTED else ""
    return ", ".join(ids[:_LISTED]) + more


def routing_as_source(replayed: ReplayedLog, joined: Sequence[ContaminatedRows] = (), *notes: str) -> SourceReport:
    """Give a replayed log as one of the sources of a check."""
    replay = replayed.replay
    told = f"{counted(replay.count, 'call')}, {counted(len(replay.transitions), 'warning')}"
    said = [f"{replayed.why}; {told}"]
    first = replay.first_divergence
    if first is not None:
        count = counted(len(replay.divergences), "call")
        diverge = verb(len(replay.divergences), "diverges", "diverge")
        said.append(f"{count} {diverge} from the machine, first call {first.n:,}: {first.divergence}")
    said += [f"documents without a vector in '{row.namespace}': {row.missing:,}" for row in _missing(replayed)]
    return SourceReport(
        replayed.path,
        ROUTING_LOG,
        "workbench" if replayed.format == NATIVE else replayed.format,
        notes=(*said, *notes, *(problem.message for problem in replay.problems)),
        findings=judge_routing(replayed, joined),
    )


def _missing(replayed: ReplayedLog) -> list[LedgerRow]:
    return [row for row in replayed.replay.ledger.rows if row.missing]

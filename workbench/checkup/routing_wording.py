"""What a replayed routing log comes to in sentences: the headline, contamination, what is odd; written once for all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from workbench.checkup.findings import Severity
from workbench.checkup.routing_json import dialect_names
from workbench.checkup.wording import counted, duration_text, verb
from workbench.core.fingerprint import parse_fingerprint
from workbench.crosscheck.spaces import same_model
from workbench.routing.calls import Flag

if TYPE_CHECKING:
    from workbench.routing.ledger import LedgerRow
    from workbench.routing.replay import Replay

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LISTED = 3


def moment(ms: float, *, date: bool = False) -> str:
    """Write a time of day in UTC, with its date where wanted; what is no time of a calendar as milliseconds."""
    try:
        at = _EPOCH + timedelta(milliseconds=ms)
    except (OverflowError, ValueError):
        return f"{ms:g} ms"
    return f"{at:%Y-%m-%d %H:%M:%S}" if date else f"{at:%H:%M:%S}"


def config_text(replay: Replay) -> str:
    """Write threshold and cooldown as they are in force."""
    threshold = replay.config.failure_streak_threshold
    shown = f"{threshold:,.0f}" if abs(threshold) < 1e15 and threshold == threshold // 1 else str(threshold)
    cooldown = replay.config.cooldown_ms
    return f"threshold {shown}, cooldown {duration_text(cooldown) if 0 <= cooldown < 1e15 else f'{cooldown:g} ms'}"


def verdicts(replay: Replay) -> Iterator[tuple[Severity | None, str]]:
    """Give the sentences on top of a replay, worst first; a severity of None is a verdict that nothing is wrong."""
    first = replay.first_divergence
    if first is not None and first.divergence is not None:
        count = len(replay.divergences)
        more = f" ({counted(count, 'call')} in all)" if count > 1 else ""
        yield (
            Severity.ERROR,
            f"the log and the machine part at call {first.n:,}, {moment(first.at_ms)}, line {first.lines[0]:,}{more}: "
            f"{first.divergence}",
        )
    for row in replay.ledger.rows:
        if row.contaminated:
            yield Severity.WARNING, contamination(row)
    if first is None:
        yield None, "every call went as the machine says"
    if not replay.ledger.contaminated:
        if replay.ledger.rows:
            yield None, "nothing was written or asked across spaces"
        elif replay.ledger.unplaced:
            yield (
                Severity.INFO,
                "the log names no namespace, so what was written where, and whether it belongs there, cannot be told",
            )


def fit_text(replay: Replay) -> str | None:
    """Offer the configuration that fits the log better, with the options that try it; None when there is none."""
    fit = replay.fit
    if fit is None:
        return None
    options = f"--failure-streak-threshold {fit.threshold:g} --cooldown-ms {fit.cooldown_ms:.0f}"
    names = dialect_names(fit.dialect)
    options += f" --dialect {','.join(names)}" if names else ""
    left = (
        "nothing diverges"
        if not fit.divergences
        else f"{counted(fit.divergences, 'call')} of {fit.before:,} still diverge"
    )
    return f"fitted to the log: with {options} {left}"


def contamination(row: LedgerRow) -> str:
    """Say what another embedder did to a namespace, by whom, and when."""
    built = f"'{row.fingerprint}'" if row.fingerprint is not None else "an embedder that is not named"
    assumed = " (assumed: what the primary makes)" if row.assumed and row.fingerprint is not None else ""
    done = []
    if row.foreign_vectors:
        what = counted(row.foreign_vectors, "vector")
        kinds = []
        if row.foreign_same_dims:
            alike = (
                "whose length cannot be compared" if row.dims is None else "of the same length, which no store notices"
            )
            kinds.append(f"{row.foreign_same_dims:,} {alike}")
        if row.foreign_dims_mismatch:
            kinds.append(f"{row.foreign_dims_mismatch:,} of another length")
        done.append(
            f"{what} of another embedder {verb(row.foreign_vectors, 'was', 'were')} written ({'; '.join(kinds)})"
        )
    if row.cross_space_queries:
        asked = counted(row.cross_space_queries, "query", "queries")
        done.append(f"{asked} {verb(row.cross_space_queries, 'was', 'were')} asked across spaces")
    by = ", ".join(f"'{each.fingerprint}'" for each in row.foreign[:_LISTED])
    more = f" and {len(row.foreign) - _LISTED:,} more" if len(row.foreign) > _LISTED else ""
    when = ""
    if row.first_call is not None and row.last_call is not None and row.first_at_ms is not None:
        when = f", call {row.first_call:,} at {moment(row.first_at_ms)}"
        if row.last_call != row.first_call and row.last_at_ms is not None:
            when = f", calls {row.first_call:,} to {row.last_call:,}, {moment(row.first_at_ms)} to "
            when += moment(row.last_at_ms)
    sentence = f"namespace '{row.namespace}' was built with {built}{assumed}: {' and '.join(done)}, by {by}{more}{when}"
    return sentence + (MAYBE_SAME if maybe_same_model(row) else "")


MAYBE_SAME = ". The model table lists both names as one space: it may be the same model under another name"


def maybe_same_model(row: LedgerRow) -> bool:
    """Say whether all that is foreign to a namespace may be its own model under another name."""
    if row.fingerprint is None or not row.foreign:
        return False
    built = parse_fingerprint(row.fingerprint)
    return all(same_model(built, parse_fingerprint(each.fingerprint)) for each in row.foreign)


def contamination_fix(row: LedgerRow) -> str:
    """Say the way out."""
    if row.foreign_vectors and row.keys:
        return (
            f"embed the {counted(len(row.keys), 'key')} that workbench replay lists again with the embedder of the "
            "namespace, and give the fallback a namespace of its own"
        )
    if row.foreign_vectors:
        return (
            "the log names no keys: re-index the namespace with one embedder, and let the provider log the keys of "
            "what it writes"
        )
    return "ask with the embedder that built the namespace, or refuse the query while only the fallback answers"


def odd(replay: Replay) -> list[str]:
    """Say what is odd about a log, though nothing of it goes against the machine."""
    flags = replay.columns.flags
    counts = {flag: int(((flags & flag.value) != 0).sum()) for flag in Flag}
    said = [
        f"{counted(counts[flag], 'call')} {what}"
        for flag, what in (
            (Flag.BY_ADJACENCY, "paired by adjacency: the lines name no call, so it is a guess"),
            (Flag.CLOCK_BACK, "ended before the line above: the clock went back, and a window lasts the longer for it"),
            (Flag.ABORT_COUNTED, "given up by the caller and counted as a failure of the primary"),
            (Flag.UNFINISHED, "without an end: the log stops before the fallback was asked"),
        )
        if counts[flag]
    ]
    said += _without_effect(replay.config.failure_streak_threshold, replay.config.cooldown_ms)
    quiet = replay.served_unnoticed
    if quiet:
        said.append(
            f"{counted(quiet, 'call')} served by the fallback while no warning was in force: failures below the "
            "threshold are told to nobody"
        )
    if replay.same_model_asked is not None:
        asked = replay.same_model_asked
        said.append(
            f"both legs were asked for the model '{asked}', and the fallback never answered: another provider rarely "
            "has a model of that name"
        )
    return said


def _without_effect(threshold: float, cooldown_ms: float) -> list[str]:
    """Say which settings are surely not meant as they act."""
    said = []
    if threshold < 1:
        said.append(f"a threshold of {threshold:g} acts as 1: the first failure opens the window")
    elif not math.isfinite(threshold):
        said.append(f"a threshold of {threshold:g} is never reached: only the primary's own circuit changes the route")
    if cooldown_ms <= 0:
        said.append(f"a cooldown of {cooldown_ms:g} ms is over at once: the primary is never skipped")
    return said

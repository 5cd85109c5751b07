"""Plans and outcomes of a re-index as text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workbench.cli.output import Output, Sign, Style

if TYPE_CHECKING:
    from workbench.reindex.foreign import PutBack
    from workbench.reindex.generations import NamespaceGenerations, RolledBack
    from workbench.reindex.model import Outcome, Plan, Progress, Regained, RunState, Settings, Verification

_EVERY_S = 0.1
_LISTED = 10


def write_plan(out: Output, plan: Plan, host: str | None) -> None:
    """Write what would be done, every figure with its basis."""
    chunks = plan.chunks
    out.row(f"re-index {plan.namespace}", f"{plan.origin or 'embedder unknown'} -> {plan.target}")
    out.verdict(
        Sign.NOTE,
        f"{chunks.total:,} chunks: {chunks.embed:,} embedded, {chunks.resplit:,} re-split first, {chunks.reuse:,} kept,"
        f" {chunks.skip:,} empty, {chunks.impossible:,} without text",
    )
    now = "unknown" if plan.clipped_now is None else f"{plan.clipped_now:,}"
    out.verdict(
        Sign.WARNING if plan.clipped_then else Sign.OK,
        f"clipped: {now} now, {plan.clipped_then:,} then (ceiling {plan.ceiling.chars:,} characters, "
        f"{plan.ceiling.source})",
    )
    tokens = plan.tokens
    out.verdict(
        Sign.NOTE,
        f"{plan.pieces:,} texts, {plan.chars:,} characters, {tokens.low:,.0f} to {tokens.high:,.0f} tokens "
        f"(likely {tokens.likely:,.0f}, {plan.tokens_basis}; verifying is in it)",
    )
    if host is None:
        out.verdict(Sign.OK, "nothing leaves this machine, nothing is paid")
    elif plan.cost is None:
        out.verdict(Sign.WARNING, f"the texts go to {host}; its price is not known")
    else:
        usd = plan.cost.usd
        out.verdict(
            Sign.WARNING,
            f"the texts go to {host}: ${usd.low:,.4f} to ${usd.high:,.4f} (likely ${usd.likely:,.4f}) at "
            f"${plan.cost.price_usd:g} a million tokens, as read on {plan.cost.price_read_on or 'an unknown day'}",
        )
    out.verdict(Sign.NOTE, f"about {plan.disk_bytes / 1e6:,.1f} MB beside the index until it is swapped")
    if plan.conflict is not None:
        out.verdict(Sign.ERROR, f"it may not write: {plan.conflict}")
    if plan.impossible_ids:
        shown = ", ".join(plan.impossible_ids[:_LISTED])
        more = chunks.impossible - min(_LISTED, len(plan.impossible_ids))
        out.verdict(Sign.WARNING, f"without text: {shown}" + (f" and {more:,} more" if more > 0 else ""))


def write_outcome(out: Output, outcome: Outcome) -> None:
    """Write how a run ended."""
    if outcome.verification is not None:
        for check in outcome.verification.checks:
            out.verdict(Sign.OK if check.ok else Sign.ERROR, f"{check.name}: {check.detail}")
        _write_regained(out, outcome.verification)
    for each in outcome.quarantined[:_LISTED]:
        out.verdict(Sign.WARNING, f"without a vector: {each.id} ({each.reason})")
    if len(outcome.quarantined) > _LISTED:
        out.verdict(Sign.WARNING, f"and {len(outcome.quarantined) - _LISTED:,} more without a vector")
    good = outcome.state.value in ("swapped", "verified")
    out.verdict(
        Sign.OK if good else Sign.WARNING,
        f"{outcome.namespace}: {outcome.message}; {outcome.embedded:,} embedded in {outcome.requests:,} requests",
        indent=0,
        style=Style.BOLD,
    )
    if outcome.report:
        out.verdict(Sign.NOTE, f"the report is {outcome.report}")


def _write_regained(out: Output, verification: Verification) -> None:
    """Write what comes back that was lost, and how much of the neighbourhood stayed as it was."""
    for each in verification.regained[:_LISTED]:
        good = each.after is not None and (each.before is None or each.after <= each.before)
        out.verdict(Sign.OK if good else Sign.WARNING, f"{each.id}: {_found(each, verification.not_measured)}")
    if len(verification.regained) > _LISTED:
        first = sum(each.after == 1 for each in verification.regained)
        out.verdict(
            Sign.NOTE,
            f"and {len(verification.regained) - _LISTED:,} more lost texts; {first:,} of "
            f"{len(verification.regained):,} find their own chunk first now",
        )
    if verification.neighbour_overlap is not None:
        out.verdict(Sign.NOTE, f"neighbours: {verification.neighbour_overlap:.0%} of the nearest ten stayed the same")
    elif verification.not_measured is not None and not verification.regained:
        out.verdict(Sign.NOTE, f"ranks and neighbours were not compared: {verification.not_measured}")


def _found(each: Regained, why: str | None) -> str:
    now = "does not find it now" if each.after is None else f"finds it at rank {each.after:,} now"
    if not each.measured:
        return f"its lost text was unreachable (not measured: {why}), and {now}"
    if each.before is None:
        return f"its lost text did not find it before, and {now}"
    after = "does not find it now" if each.after is None else f"at {each.after:,} now"
    return f"its lost text found it at rank {each.before:,} of {each.of:,} before, {after}"


def write_rolled_back(out: Output, namespace: str, done: RolledBack) -> None:
    """Write what answers again, and what was written since and does not."""
    out.verdict(Sign.OK, f"{namespace}: generation {done.generation} answers again; {done.left} is kept", indent=0)
    if done.more_written:
        shown = ", ".join(done.written_since[:_LISTED])
        more = done.more_written - min(_LISTED, len(done.written_since))
        out.verdict(
            Sign.WARNING,
            f"{done.more_written:,} chunks were written since the swap and are only in generation {done.left}: {shown}"
            + (f" and {more:,} more" if more else ""),
        )


def write_to_be_put_back(out: Output, found: PutBack) -> None:
    """Write, before it is done, what will be out of sight once the file from before answers again."""
    if found.written:
        shown = ", ".join(found.written_since[:_LISTED])
        more = found.written - min(_LISTED, len(found.written_since))
        out.verdict(
            Sign.WARNING,
            f"{found.written:,} chunks were written since and are not in the file from before: {shown}"
            + (f" and {more:,} more" if more else ""),
            indent=0,
        )
    if found.gone:
        out.verdict(Sign.WARNING, f"{found.gone:,} chunks that were deleted since are in it again", indent=0)


def write_put_back(out: Output, namespace: str, done: PutBack) -> None:
    """Write what answers again, and where the other file is."""
    out.verdict(Sign.OK, f"{namespace}: the file from before the swap answers again", indent=0)
    out.verdict(Sign.NOTE, f"the file that it replaced is {done.put_aside}; --rollback once more brings that one back")


def write_status(
    out: Output,
    namespaces: tuple[NamespaceGenerations, ...],
    unfinished: tuple[tuple[str, Settings, RunState], ...],
    in_use: tuple[tuple[str, str], ...] = (),
    left_behind: tuple[str, ...] = (),
) -> None:
    """Write every namespace with its generations, and what is unfinished beside the index."""
    for each in namespaces:
        out.line(each.namespace, Style.BOLD)
        for one in each.generations:
            sign = Sign.OK if one.generation == each.active else Sign.EMPTY
            out.verdict(
                sign,
                f"generation {one.generation}  {one.fingerprint or 'no vector yet'}  {one.count:,} chunks  {one.state}",
            )
        for path, settings, state in unfinished:
            if settings.namespace == each.namespace:
                out.verdict(Sign.WARNING, f"unfinished: {settings.fingerprint}, {state.value}, in {path}")
    for _, message in in_use:
        out.verdict(Sign.WARNING, f"under way: {message}", indent=0)
    for path in left_behind:
        out.verdict(
            Sign.WARNING, f"left by a swap that was ended half-way: {path}; --resume or --discard removes it", indent=0
        )


class ProgressLine:
    """One line on the terminal that says how far a build is."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._last = 0.0

    def show(self, progress: Progress) -> None:
        """Say how far it is, at most ten times a second."""
        now = time.monotonic()
        if now - self._last < _EVERY_S and progress.done < progress.total:
            return
        self._last = now
        rate = progress.done / progress.seconds if progress.seconds > 0 else 0.0
        money = "" if progress.cost_usd is None else f"  ${progress.cost_usd:,.4f}"
        retries = f"  {progress.retries:,} retries" if progress.retries else ""
        self._out.transient(f"{progress.done:,} of {progress.total:,} vectors  {rate:,.0f} a second{money}{retries}")

    def warn(self, message: str) -> None:
        """Say what must be said once."""
        self._out.clear_transient()
        self._out.verdict(Sign.WARNING, message, indent=0)

    def step(self, name: str) -> None:
        """Say what is done now."""
        self._out.transient(name)

    def end(self) -> None:
        """Take the line away."""
        self._out.clear_transient()

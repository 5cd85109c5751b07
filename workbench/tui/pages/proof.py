"""The proof below a clipped chunk: at which rank its own lost text finds it, and where it should."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from workbench.tui.draw import Line, Tone, clip, number
from workbench.tui.pages.parts import Frame, keys_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.checkup.proof import Proof

_TEXT_AT = 7


def proof_lines(proof: Proof | None, asking: str, frame: Frame) -> list[Line]:
    """Draw what is known about the chunk under the cursor: one row, and where there is room the words asked with."""
    signs = frame.signs
    line = Line().add("Proof", bold=True).to(_TEXT_AT)
    if asking:
        said = clip(f"{asking} {signs.reading}", frame.width - _TEXT_AT - 12, signs.more)
        return [line.add(said, Tone.MUTED).right(keys_line([("esc", "stop")]), frame.width)]
    if proof is None:
        return []
    if proof.rank is None:
        return [line.add(clip(proof.why, frame.width - _TEXT_AT, signs.more), Tone.MUTED)]
    rank, of = proof.rank.rank, number(proof.rank.of)
    if rank is None:
        line.add("its own lost text does not find it in the first ", Tone.MUTED)
        line.add(number(proof.rank.first), Tone.ERROR, bold=True).add(f" of {of}", Tone.MUTED)
    else:
        good = rank == 1
        line.add("its own lost text finds it at rank ", Tone.MUTED)
        line.add(number(rank), Tone.OK if good else Tone.ERROR, bold=True).add(f" of {of}", Tone.MUTED)
    expected = Line().add("expected ", Tone.FAINT).add("1", Tone.OK, bold=True)
    if line.cells + expected.cells + 2 <= frame.width:
        line.right(expected, frame.width)
    lines = [line.cut(frame.width, signs.more)]
    if frame.roomy and proof.query:
        room = frame.width - _TEXT_AT - 2
        lines.append(Line().to(_TEXT_AT).add(f"“{clip(' '.join(proof.query.split()), room, signs.more)}”", Tone.FAINT))
    return lines


def summary(proofs: Iterable[Proof]) -> str:
    """Say what came of several in one sentence."""
    ranks = [each.rank for each in proofs if each.rank is not None]
    if not ranks:
        return "no lost text could be searched for"
    first = sum(each.rank == 1 for each in ranks)
    found = [each.rank for each in ranks if each.rank is not None]
    usual = f", usually at rank {number(round(median(found)))}" if found and first < len(ranks) else ""
    nowhere = len(ranks) - len(found)
    beyond = f", {number(nowhere)} not in the first {number(max(each.first for each in ranks))}" if nowhere else ""
    return f"{number(first)} of {number(len(ranks))} found first{usual}{beyond}"

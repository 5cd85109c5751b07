"""What any ceiling does to one namespace, answered from memory: every number of the Ceiling view comes from here.

The counts are those of ``check --json``: the same lengths, asked by the same function.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.core.ceiling import ChunkCeiling

if TYPE_CHECKING:
    from workbench.checkup.report import Clipped, ExactClip, NamespaceReport
    from workbench.core.job import Job
    from workbench.index.model import ClipCount, LengthAnswers, Namespace

_QUANTILES = ((50, "p50"), (95, "p95"), (99, "p99"))
_KEPT_ANSWERS = 4_096


@dataclass(frozen=True, slots=True)
class Column:
    """The chunks of one column of the histogram; ``possible`` of them may be more tokens than the model reads.

    A chunk right of the ceiling is certainly clipped and never among ``possible``.
    """

    count: int
    possible: int


@dataclass(frozen=True)
class Clipping:
    """The lengths of a namespace, and the ceiling that holds there.

    Attributes:
        answers: the lengths, read once.
        resolved: the ceiling of the verdict, and who says so.
        token_limit: how many tokens the model reads; None when that is not known.
        marks: name and length of some percentiles and of the longest chunk.
        exact: what was cut by the model's own tokens, whatever ceiling is looked at; None where they are not counted.
    """

    answers: LengthAnswers
    resolved: ChunkCeiling
    token_limit: int | None
    marks: tuple[tuple[str, int], ...]
    exact: ExactClip | None = None
    _asked: dict[int, ClipCount] = field(default_factory=dict, repr=False, compare=False)
    _last: dict[int, Clipped] = field(default_factory=dict, repr=False, compare=False)

    @property
    def longest(self) -> int:
        """The longest chunk, in code units; 0 when there is none."""
        return self.marks[-1][1]

    def mark(self, name: str) -> int:
        """Give the length of one mark."""
        return dict(self.marks)[name]

    def at(self, chars: int) -> Clipped:
        """Say what one ceiling does: the function behind ``check --json``. The last answer is kept."""
        from workbench.checkup.ceiling import clip

        last = self._last.get(chars)
        if last is None:
            mine = chars == self.resolved.chars
            last = clip(self.answers, self.resolved if mine else ChunkCeiling(chars, "explicit"))
            self._last.clear()
            self._last[chars] = last
        return last

    def columns(self, edges: tuple[int, ...], ceiling: int) -> tuple[Column, ...]:
        """Count the chunks between each two edges; those beyond the last edge are in the last column."""
        asked = [self._ask(edge) for edge in edges]
        total = self.answers.total
        longer = [total, *(answer.count for answer in asked[1:-1]), 0]
        possible = [0, *(answer.possible for answer in asked[1:-1]), self._ask(self.longest).possible]
        return tuple(
            Column(
                longer[place] - longer[place + 1],
                possible[place + 1] - possible[place] if edges[place + 1] <= ceiling else 0,
            )
            for place in range(len(edges) - 1)
        )

    def _ask(self, edge: int) -> ClipCount:
        """Answer one edge; most edges stay where they are while the ceiling moves."""
        answer = self._asked.get(edge)
        if answer is None:
            if len(self._asked) >= _KEPT_ANSWERS:
                self._asked.clear()
            answer = self._asked[edge] = self.answers.clip(edge)
        return answer


def measure(namespace: Namespace, report: NamespaceReport, job: Job | None = None) -> Clipping | None:
    """Read the lengths (kept by the namespace once they were read) and their longest; None where no text is stored.

    Raises SourceError and Cancelled as the namespace does. Run it in a worker.
    """
    from workbench.checkup.ceiling import token_limit
    from workbench.checkup.options import CheckOptions

    limit = token_limit(report.fingerprints, CheckOptions())
    answers = namespace.lengths(limit, job)
    if answers is None:
        return None
    exact = None if report.ceiling.clipped is None else report.ceiling.clipped.exact
    return replace(clipping_of(answers, report.ceiling.ceiling, limit), exact=exact)


def clipping_of(answers: LengthAnswers, resolved: ChunkCeiling, limit: int | None = None) -> Clipping:
    """Put lengths and ceiling together; asks for the longest chunks, which may be a query."""
    longest = max((each.chars for each in answers.longest[:1]), default=0)
    marks = [(name, _quantile(answers, percent, longest)) for percent, name in _QUANTILES]
    return Clipping(answers, resolved, limit, (*marks, ("max", longest)))


def _quantile(answers: LengthAnswers, percent: int, longest: int) -> int:
    """Give the least length that so many percent of the chunks do not exceed."""
    allowed = answers.total * (100 - percent)
    low, high = 0, longest
    while low < high:
        middle = (low + high) // 2
        if 100 * answers.clip(middle).count <= allowed:
            high = middle
        else:
            low = middle + 1
    return low

"""A guided re-index as it stands: the step, what was chosen, what was found, how far the build is. Drawn by pages."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from workbench.core.text import inert
from workbench.embedders.activity import Activity, AnswerCame, BatchSplit, RequestSent, Retrying, Waiting

if TYPE_CHECKING:
    from workbench.core.ceiling import ChunkCeiling
    from workbench.index.holders import Held
    from workbench.reindex.generations import Generation, RolledBack
    from workbench.reindex.model import Outcome, Plan, Progress, RunState, Settings
    from workbench.trust import TrustQuestion
    from workbench.tui.state import LengthShape

MOST_SAMPLES = 1_200
"""Points of the rate over time; beyond it every second one is dropped."""

MOST_LINES = 40
MOST_WARNINGS = 20


class Step(IntEnum):
    """Where the guide is."""

    CHOOSE = 1
    PLAN = 2
    CONFIRM = 3
    BUILD = 4
    VERIFY = 5


TITLES = {
    Step.CHOOSE: "Choose",
    Step.PLAN: "Plan",
    Step.CONFIRM: "Confirm",
    Step.BUILD: "Build",
    Step.VERIFY: "Verify and swap",
}


@dataclass(frozen=True, slots=True)
class Offer:
    """An embedder that could be the target, as it declares itself; nothing was asked of it.

    Attributes:
        fingerprint: None while it does not declare the length of its vectors.
        hosts: where texts would go; none when they stay on this machine.
        missing: the extra that is not installed, empty when nothing is missing.
        conflict: why an auto-fallback cannot build, empty when it can.
    """

    name: str
    fingerprint: str | None
    ceiling: ChunkCeiling | None = None
    hosts: tuple[str, ...] = ()
    price_usd: float | None = None
    price_read_on: str | None = None
    missing: str = ""
    conflict: str = ""

    @property
    def usable(self) -> bool:
        """Whether a plan can be made with it."""
        return self.fingerprint is not None and not self.missing and not self.conflict


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A re-index of this namespace that was begun before: where it is, and how many vectors are kept of how many."""

    path: str
    settings: Settings
    state: RunState
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """What can be chosen: embedders, files that are not accepted yet, an unfinished re-index; or what is wrong."""

    offers: tuple[Offer, ...] = ()
    questions: tuple[TrustQuestion, ...] = ()
    unfinished: Unfinished | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen: the embedder by name, another ceiling than it declares, whether long chunks are cut."""

    embedder: str
    max_chunk_chars: int | None = None
    resplit: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The generations of the namespace, newest first, and who else holds the file (None: nobody that is known of)."""

    active: int | None = None
    generations: tuple[Generation, ...] = ()
    held: Held | None = None
    written_since: int = 0

    @property
    def now(self) -> Generation | None:
        """The one that answers."""
        return next((each for each in self.generations if each.generation == self.active), None)

    @property
    def before(self) -> Generation | None:
        """The one that rolling back leads to."""
        from workbench.reindex.generations import before

        return before(self.generations, self.active)


@dataclass(frozen=True, slots=True)
class Wait:
    """A time when nothing was sent, in seconds of the build; ``asked`` when the server named it."""

    start: float
    end: float
    reason: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Happened:
    """One line of what a build did: an answer with its vectors, or why it waited. ``at`` in seconds of the build."""

    at: float
    said: str
    took: float | None = None
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Building:
    """A build at one moment; all times are seconds since it was begun here.

    ``samples`` are pairs of time and vectors that exist, the first one when the run began. ``served_by`` is the leg of
    an auto-fallback that answers now, empty for a single embedder.
    """

    doing: str = ""
    path: str = ""
    seconds: float = 0.0
    progress: Progress | None = None
    samples: tuple[tuple[float, int], ...] = ()
    waits: tuple[Wait, ...] = ()
    happened: tuple[Happened, ...] = ()
    in_flight: int = 0
    retries: tuple[tuple[str, int], ...] = ()
    splits: int = 0
    served_by: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """Vectors a second of this run; None before there is one."""
        if len(self.samples) < 2:
            return None
        (first, had), (last, has) = self.samples[0], self.samples[-1]
        return (has - had) / (last - first) if last > first and has > had else None

    @property
    def left(self) -> float | None:
        """Seconds left at this rate; None while it is not known."""
        if self.progress is None or not self.rate:
            return None
        return max(0.0, (self.progress.total - self.progress.done - self.progress.quarantined) / self.rate)


class BuildWatch:
    """What the thread of a build reports to and the screen looks at; safe from both."""

    def __init__(self, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self._clock, self._changed = clock, changed
        self._lock = threading.Lock()
        self._began = clock()
        self._now = Building()
        self._samples: list[tuple[float, int]] = []
        self._retries: Counter[str] = Counter()
        self.route: Callable[[], str] = str
        self._ended: float | None = None

    def look(self) -> Building:
        """Give the build as it is now."""
        with self._lock:
            return replace(
                self._now,
                seconds=self._seconds(),
                samples=tuple(self._samples),
                retries=tuple(self._retries.most_common()),
            )

    def end(self) -> None:
        """Let its clock stand."""
        with self._lock:
            self._ended = self._clock() - self._began
        self._changed()

    def step(self, doing: str) -> None:
        """Say what is done now."""
        self._change(doing=doing)

    def begun(self, path: str, done: int) -> None:
        """Say where it is built, and how many vectors there were to begin with."""
        with self._lock:
            self._samples.append((self._seconds(), done))
        self._change(path=path)

    def progress(self, progress: Progress) -> None:
        """Take in what is committed."""
        with self._lock:
            self._samples.append((self._seconds(), progress.done))
            if len(self._samples) > MOST_SAMPLES:
                self._samples = [self._samples[0], *self._samples[2::2]]
        self._change(doing="building", progress=progress, served_by=self.route())

    def warned(self, message: str) -> None:
        """Keep a warning of the routing."""
        self._change(warnings=(*self._now.warnings, message)[-MOST_WARNINGS:])

    def activity(self, activity: Activity) -> None:
        """Take in what the embedder does."""
        at = self._clock() - self._began
        now = self._now
        match activity:
            case RequestSent():
                doing = "building" if now.doing == "probing" and activity.texts > 1 else now.doing
                self._change(in_flight=now.in_flight + 1, doing=doing)
            case AnswerCame():
                line = Happened(at, f"{activity.texts:,} vector{'' if activity.texts == 1 else 's'}", activity.seconds)
                self._happened(line, in_flight=max(0, now.in_flight - 1))
            case Waiting():
                wait = Wait(at, at + activity.seconds, activity.reason, activity.asked)
                said = f"waits {activity.seconds:.1f} s{', as asked' if activity.asked else ''}: {activity.reason}"
                self._happened(
                    Happened(at, said, bad=True),
                    waits=(*now.waits, wait)[-MOST_LINES:],
                    in_flight=max(0, now.in_flight - 1),
                )
            case Retrying():
                with self._lock:
                    self._retries[activity.reason] += 1
                self._changed()
            case BatchSplit():
                line = Happened(at, f"{activity.texts:,} texts go out in smaller batches: {activity.reason}", bad=True)
                self._happened(line, splits=now.splits + 1, in_flight=max(0, now.in_flight - 1))

    def _happened(self, line: Happened, **changes: object) -> None:
        self._change(happened=(line, *self._now.happened)[:MOST_LINES], **changes)

    def _change(self, **changes: object) -> None:
        with self._lock:
            self._now = replace(self._now, **changes)  # type: ignore[arg-type]
        self._changed()

    def _seconds(self) -> float:
        return self._clock() - self._began if self._ended is None else self._ended


@dataclass(slots=True)
class Guide:
    """Everything that the guide's pages are drawn from.

    Attributes:
        chunks: how many the namespace has; ``origin`` its fingerprint, None when nothing says.
        busy: what is being done beside the event loop, empty when nothing is.
        trouble: one sentence that says why something could not be done.
        sure: which action was asked for once and needs to be asked for twice.
        leaving: whether the guide is left as soon as the build has paused.
    """

    index: str
    namespace: str
    chunks: int = 0
    origin: str | None = None
    step: Step = Step.CHOOSE
    offered: Offered | None = None
    chosen: int = 0
    max_chunk_chars: int | None = None
    resplit: bool = False
    question: TrustQuestion | None = None
    plan: Plan | None = None
    shape: LengthShape | None = None
    ceiling_now: int | None = None
    cap_usd: float | None = None
    typed: str = ""
    building: Building | None = None
    pausing: bool = False
    leaving: bool = False
    outcome: Outcome | None = None
    standing: Standing | None = None
    rolled: RolledBack | None = None
    busy: str = ""
    done: int = 0
    total: int = 0
    trouble: str = ""
    sure: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def offer(self) -> Offer | None:
        """The embedder under the cursor."""
        offers = self.offered.offers if self.offered is not None else ()
        return offers[self.chosen] if self.chosen < len(offers) else None

    @property
    def asked(self) -> TrustQuestion | None:
        """The file under the cursor that is not accepted yet."""
        if self.offered is None:
            return None
        place = self.chosen - len(self.offered.offers)
        return self.offered.questions[place] if 0 <= place < len(self.offered.questions) else None

    @property
    def unfinished(self) -> Unfinished | None:
        """What was begun before."""
        return self.offered.unfinished if self.offered is not None else None

    @property
    def running(self) -> bool:
        """Whether a build is under way in this process."""
        return self.step is Step.BUILD and bool(self.busy)

    @property
    def confirmed(self) -> bool:
        """Whether what was typed is the name, as it is or as it is shown."""
        return bool(self.typed) and self.typed in (self.namespace, inert(self.namespace))

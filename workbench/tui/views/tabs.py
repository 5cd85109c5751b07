"""The views in the order of their digits; each is imported when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.tui.draw import Tone, number
from workbench.tui.signs import Signs

if TYPE_CHECKING:
    from workbench.checkup.report import NamespaceReport
    from workbench.tui.recorded import Recorded
    from workbench.tui.views import Desk, Subject, View


@dataclass(frozen=True, slots=True)
class Tab:
    """One view by name: ``tag`` is what stands beside its title while it is not open, such as ``✂ 456``."""

    id: str
    title: str
    make: Callable[[Desk], View]
    tag: Callable[[NamespaceReport, Signs], tuple[str, Tone]] = lambda report, signs: ("", Tone.MUTED)
    recorded_tag: Callable[[Recorded, Signs], tuple[str, Tone]] = lambda recorded, signs: ("", Tone.MUTED)


def _overview(desk: Desk) -> View:
    from workbench.tui.views.overview import Overview

    return Overview(desk)


def _chunks(desk: Desk) -> View:
    from workbench.tui.views.chunks import Chunks

    return Chunks(desk)


def _ceiling(desk: Desk) -> View:
    from workbench.tui.views.ceiling import Ceiling

    return Ceiling(desk)


def _vectors(desk: Desk) -> View:
    from workbench.tui.views.vectors import Vectors

    return Vectors(desk)


def _probe(desk: Desk) -> View:
    from workbench.tui.views.probe import Probe

    return Probe(desk)


def _clipped(report: NamespaceReport, signs: Signs) -> tuple[str, Tone]:
    clipped = report.ceiling.clipped
    return (f"{signs.clipped} {number(clipped.count)}" if clipped is not None and clipped.count else "", Tone.WARN)


def _unusable(report: NamespaceReport, signs: Signs) -> tuple[str, Tone]:
    health = report.vectors.health
    never_rank = health.unusable + health.missing
    return (f"{signs.warn} {number(never_rank)}" if never_rank else "", Tone.WARN)


def _steps(desk: Desk) -> View:
    from workbench.tui.views.steps import Steps

    return Steps(desk)


def _retrievals(desk: Desk) -> View:
    from workbench.tui.views.retrievals import Retrievals

    return Retrievals(desk)


def _sizes(desk: Desk) -> View:
    from workbench.tui.views.sizes import Sizes

    return Sizes(desk)


def _failed(recorded: Recorded, signs: Signs) -> tuple[str, Tone]:
    errors = len(recorded.report.errors)
    return (f"{signs.bad} {number(errors)}" if errors else "", Tone.ERROR)


def _wrong_or_clipped(recorded: Recorded, signs: Signs) -> tuple[str, Tone]:
    if recorded.wrong:
        return f"{signs.differs} {number(recorded.wrong)}", Tone.WARN
    return (f"{signs.clipped} {number(recorded.clipped)}" if recorded.clipped else "", Tone.WARN)


def _replay(desk: Desk) -> View:
    from workbench.tui.views.replay import ReplayView

    return ReplayView(desk)


def tabs_of(subject: Subject) -> tuple[Tab, ...]:
    """Give the views that there are of a namespace, recording or routing log."""
    if subject.routed is not None:
        return ROUTING_TABS
    return TABS if subject.recorded is None else RECORDING_TABS


ROUTING_TABS = (Tab("replay", "Replay", _replay),)
"""Only one, so no strip stands above it."""


RECORDING_TABS = (
    Tab("steps", "Steps", _steps, recorded_tag=_failed),
    Tab("retrievals", "Retrievals", _retrievals, recorded_tag=_wrong_or_clipped),
    Tab("sizes", "Sizes", _sizes),
)

TABS = (
    Tab("overview", "Overview", _overview),
    Tab("chunks", "Chunks", _chunks),
    Tab("ceiling", "Ceiling", _ceiling, _clipped),
    Tab("vectors", "Vectors", _vectors, _unusable),
    Tab("probe", "Probe", _probe),
)

"""Makes the pictures of README.md from the running program over the sample data: the same bytes on every run.

    python screenshots/make.py [NAME...]      all pictures, or those whose names begin so

They are SVG: small, sharp, their text can be searched, and nothing in them is fetched from elsewhere.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.color import Color
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from textual.pilot import Pilot

from workbench.checkup.namespace import check_namespace
from workbench.checkup.options import CheckOptions
from workbench.checkup.report import NamespaceReport
from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Job
from workbench.index import refusals
from workbench.index.model import IndexSource, Namespace
from workbench.tui.app import WorkbenchApp
from workbench.tui.reading import FileReader
from workbench.tui.screens import main as main_screen
from workbench.tui.screens import shown
from workbench.tui.screens.reindex import ReindexScreen
from workbench.tui.state import Node

HERE = Path(__file__).parent
SAMPLE = "sample_data"
LOCKED = f"{SAMPLE}/archive.duckdb"
LOCKED_BY = "Conflicting lock is held in /usr/bin/python3.12 (PID 48213)"
NOW_MS = 1_767_225_600_000
READ_SECONDS = 0.031
LARGE, SMALL = (120, 40), (80, 24)
LIGHT = "workbench-light"
MOST_LOOKS = 2_000


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its name, the namespace, recording or log that it is of, the keys that lead to it, and its looks."""

    name: str
    namespace: str | None = None
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = LARGE
    theme: str = "workbench-dark"
    paths: tuple[str, ...] = (SAMPLE,)
    incoming: Fingerprint | None = None
    at: str | None = None


REFUSED = Fingerprint("wordllama", 256)
NAMED = {"@": "at", "-": "minus", ".": "full_stop", "#": "number_sign"}
TYPED = ("i", *"text-embedding-3-small@1536")
PICTURES = (
    Picture("overview-120x40", "handbook", incoming=REFUSED),
    Picture("overview-120x40-light", "handbook", theme=LIGHT, incoming=REFUSED),
    Picture("overview-80x24", "handbook", size=SMALL, incoming=REFUSED),
    Picture("incoming-120x40", "handbook", TYPED),
    Picture("incoming-80x24", "handbook", TYPED, SMALL),
    Picture("chunks-120x40", "handbook", ("2",)),
    Picture("chunks-80x24", "handbook", ("2",), SMALL),
    Picture("ceiling-120x40", "handbook", ("3",)),
    Picture("ceiling-120x40-light", "handbook", ("3",), theme=LIGHT),
    Picture("ceiling-80x24", "handbook", ("3",), SMALL),
    Picture("vectors-120x40", "recipes", ("4", "down", "down")),
    Picture("vectors-80x24", "recipes", ("4",), SMALL),
    Picture("probe-120x40", "handbook", ("5", "c", *"crossing.md#3", "enter")),
    Picture("recording-120x40", keys=("1",), at="spare_float.json"),
    Picture("recording-80x24", keys=("1",), size=SMALL, at="spare_float.json"),
    Picture("retrievals-120x40", keys=("2",), at="spare_float.json"),
    Picture("replay-120x40", at="routing.jsonl"),
    Picture("replay-80x24", size=SMALL, at="routing.jsonl"),
    Picture("reindex-plan-120x40", "handbook", ("r", "enter")),
    Picture("reindex-verify-120x40", "handbook", ("r", "enter", "enter", *"handbook", "enter")),
    Picture("locked-120x40", paths=(LOCKED, f"{SAMPLE}/index.duckdb")),
    Picture("empty-120x40", paths=()),
)


class SteadyReader(FileReader):
    """Reads the sample as it is; what differs from run to run, clock and lock, is always the same."""

    def __init__(self, locked: bool) -> None:
        super().__init__()
        self._locked = locked
        self._looked = threading.local()

    def clock(self) -> float:
        """Let every reading take the same time."""
        self._looked.times = getattr(self._looked, "times", 0) + 1
        return READ_SECONDS * float(self._looked.times)

    def open(self, path: str) -> IndexSource:
        """Open a file of the sample; where one is locked, it is held by a program that is always the same."""
        if self._locked and path == LOCKED:
            raise refusals.locked(path, LOCKED_BY)
        return super().open(path)

    def check(self, namespace: Namespace, incoming: Fingerprint | None, job: Job) -> NamespaceReport:
        """Judge at a fixed moment."""
        return check_namespace(namespace, CheckOptions(incoming=incoming), NOW_MS, job)


async def take(picture: Picture) -> str:
    """Open the sample, wait until all is read, press the keys, and draw what is on the screen."""
    app = WorkbenchApp(
        picture.paths,
        SteadyReader(locked=LOCKED in picture.paths),
        incoming=picture.incoming,
        namespace=picture.namespace,
        theme=picture.theme,
    )
    async with app.run_test(size=picture.size) as pilot:
        await until_settled(app, pilot)
        if picture.at is not None:
            main = main_of(app)
            sources = main.session.opened.sources
            main.go_to(Node(source=next(key for key, each in sources.items() if each.path.endswith(picture.at))))
            await until_settled(app, pilot)
        for place, key in enumerate(picture.keys):
            await pilot.press(NAMED.get(key, key))
            if place == 0 or key == "enter":  # the view, the overlay or the step that the other keys are for
                await until_settled(app, pilot)
        await until_settled(app, pilot)
        return svg_of(app)


def main_of(app: WorkbenchApp) -> main_screen.MainScreen:
    """Give the screen below all others."""
    main = app.screen_stack[0]
    assert isinstance(main, main_screen.MainScreen)
    return main


async def until_settled(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Wait until nothing is being read and nothing is to be drawn."""
    main = main_of(app)
    for _ in range(MOST_LOOKS):
        await pilot.pause(0.02)
        guide = app.screen
        if main.settled and not (isinstance(guide, ReindexScreen) and guide.guide.busy):
            break
    else:
        raise RuntimeError("the sample is never read to the end")
    await pilot.pause(0.3)


def svg_of(app: WorkbenchApp) -> str:
    """Draw the screen as SVG, in a frame of the theme's own colours and without fonts from elsewhere."""
    width, height = app.size
    console = Console(
        width=width,
        height=height,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        record=True,
        legacy_windows=False,
        safe_box=False,
    )
    console.print(app.screen._compositor.render_update(full=True, screen_stack=app._background_screens, simplify=True))
    background, foreground = (app.theme_variables[name] for name in ("background", "foreground"))
    theme = TerminalTheme(_rgb(background), _rgb(foreground), [_rgb(background)] * 8, [_rgb(foreground)] * 8)
    form = re.sub(r",\s*url\([^)]*\) format\([^)]*\)", "", CONSOLE_SVG_FORMAT)
    drawn = console.export_svg(title="workbench", theme=theme, code_format=form, unique_id="workbench")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = Color.parse(colour.lower()).get_truecolor()
    return red, green, blue


@contextmanager
def one_environment() -> Iterator[None]:
    """Let nothing of this machine be seen: home, time zone, language, colours."""
    with tempfile.TemporaryDirectory(prefix="workbench-pictures-") as home:
        for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM", "TEXTUAL_FILTERS", "LC_ALL", "LANG"):
            os.environ.pop(name, None)
        os.environ |= {"HOME": home, "XDG_STATE_HOME": home, "TZ": "UTC", "TEXTUAL_ANIMATIONS": "none"}
        os.environ |= {"COLORTERM": "truecolor", "TERM": "xterm-256color"}
        time.tzset()
        yield


@contextmanager
def copied_sample() -> Iterator[None]:
    """Work beside a copy of the sample, so that paths are short and a build changes nothing that is kept."""
    with tempfile.TemporaryDirectory(prefix="workbench-pictures-") as folder:
        shutil.copytree(HERE.parent / SAMPLE, Path(folder) / SAMPLE)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(HERE.parent)


def main() -> None:
    """Take the pictures that are asked for."""
    shown.LOOK_SECONDS = 3_600.0  # who holds which file depends on the moment
    wanted = tuple(sys.argv[1:]) or ("",)
    with one_environment():
        for picture in PICTURES:
            if picture.name.startswith(wanted):
                path = HERE / f"{picture.name}.svg"
                with copied_sample():
                    drawn = asyncio.run(take(picture))
                path.write_text(drawn, encoding="utf-8")
                print(path.name)
    for stray in HERE.glob("*.svg"):
        if stray.stem not in {picture.name for picture in PICTURES}:
            stray.unlink()


if __name__ == "__main__":
    main()

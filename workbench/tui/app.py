"""The program on the terminal: themes, the main screen, and an end that is always clean."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.command import CommandPalette, Provider
from textual.scrollbar import ScrollBar, ScrollBarRender

from workbench.tui import collector, messages
from workbench.tui.screens.main import MainScreen
from workbench.tui.signs import ASCII, UNICODE
from workbench.tui.theme import DARK, THEMES, ThemedApp
from workbench.tui.threads import ended_within, start

if TYPE_CHECKING:
    from workbench.core.fingerprint import Fingerprint
    from workbench.tui.reading import Reader

_GRACE_SECONDS = 0.5
_LATER = (
    "views.chunks",
    "views.ceiling",
    "views.vectors",
    "views.probe",
    "views.steps",
    "views.retrievals",
    "screens.incoming",
    "screens.reindex",
    "screens.menu",
    "screens.help",
    "palette",
)
"""What is not needed for the first frame."""

_log = logging.getLogger(__name__)


class BlankBar(ScrollBarRender):
    """A scrollbar of coloured blanks alone, without the blocks that smooth its ends."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def _everything() -> type[Provider]:
    from workbench.tui.palette import Everything

    return Everything


class WorkbenchApp(ThemedApp):
    """One main screen over everything that was opened."""

    TITLE = "workbench"
    # Named here and not on the screen: Textual reads no stylesheet of a default screen.
    CSS_PATH = "screens/main.tcss"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_everything}

    def __init__(
        self,
        paths: Sequence[str],
        reader: Reader,
        *,
        incoming: Fingerprint | None = None,
        namespace: str | None = None,
        theme: str | None = None,
        ascii_only: bool = False,
    ) -> None:
        super().__init__()
        self.signs = ASCII if ascii_only else UNICODE
        self.set_class(ascii_only, "-ascii")
        ScrollBar.renderer = BlankBar if ascii_only else ScrollBarRender
        for each in THEMES:
            self.register_theme(each)
        wanted = theme or os.environ.get("TEXTUAL_THEME")
        self.theme = wanted if wanted in self.available_themes else DARK.name
        self._main = MainScreen(paths, reader, incoming, namespace)
        self._unsettled = False

    def get_default_screen(self) -> MainScreen:
        """Start with the main screen, the only one that stays."""
        return self._main

    def action_command_palette(self) -> None:
        """Open the palette, once."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="an action, or a name", id="--command-palette"))

    def settle_after_start(self) -> None:
        """Set what the start made apart from what is collected, after the first frame and after the first reading."""
        self._unsettled = True

    def on_ready(self) -> None:
        """Take notice of the first frame."""
        if self._unsettled:
            collector.set_apart()

    @on(messages.SourceDone)
    def _first_reading(self) -> None:
        """Import what a key may ask for next, so that the key need not wait for it."""
        if self._unsettled:
            self._unsettled = False
            start(_import_the_rest)

    def _fatal_error(self) -> None:
        """Keep the traceback for the log: what a user gets is one sentence, after the terminal is restored."""
        _log.error("the terminal program failed", exc_info=self._exception)
        self._close_messages_no_wait()

    @property
    def failure(self) -> Exception | None:
        """What ended the program, if it was not the user."""
        return self._exception


def _import_the_rest() -> None:
    for name in _LATER:
        import_module(f"workbench.tui.{name}")
    collector.set_apart()


def known_themes() -> tuple[str, ...]:
    """Give the names that ``--theme`` takes, ours first."""
    from textual.theme import BUILTIN_THEMES

    return (*(theme.name for theme in THEMES), *BUILTIN_THEMES)


def run(
    paths: Iterable[str],
    incoming: Fingerprint | None = None,
    explicit_ceiling: int | None = None,
    namespace: str | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
) -> int:
    """Run until the user leaves, and give the exit code: 0, 1 after a crash, 2 for a theme that is not known.

    After a crash the terminal is restored, one sentence says so, and the details are in the log.

    Readers are interrupted on the way out. Should one not stop within half a second, the process ends without it:
    its files were opened read-only, so nothing of the user's is lost.
    """
    from workbench.tui.crash import log_native_crashes, say, say_crashed
    from workbench.tui.reading import FileReader
    from workbench.tui.terminal import ambiguous_is_wide

    if theme is not None and theme not in known_themes():
        say(f"there is no theme named {theme}; there are {', '.join(known_themes())}")
        return 2
    ascii_only = ascii_only or ambiguous_is_wide()
    with log_native_crashes():
        app = WorkbenchApp(
            tuple(paths),
            FileReader(explicit_ceiling),
            incoming=incoming,
            namespace=namespace,
            theme=theme,
            ascii_only=ascii_only,
        )
        app.settle_after_start()
        app.run()
    code = app.return_code or 0
    if app.failure is not None:
        say_crashed(app.failure)
        code = code or 1
    if not ended_within(_GRACE_SECONDS):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code

"""Copying: by the terminal's own escape sequence, and by a tool of this computer where the screen is one of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.tui.threads import start

if TYPE_CHECKING:
    from textual.app import App

_TOOLS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
)
_SECONDS = 2.0


def local_tool(environment: Mapping[str, str]) -> list[str] | None:
    """Give the command that copies here; None over SSH, where it would fill the clipboard of another computer."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return None
    for needs, command in _TOOLS:
        if needs and not environment.get(needs):
            continue
        found = shutil.which(command[0], path=environment.get("PATH"))
        if found is not None:
            return [found, *command[1:]]
    return None


def copy_text(app: App[int], text: str) -> None:
    """Copy a text as it is; many terminals take the sequence, some only a tool of the desktop."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    app.copy_to_clipboard(clean)
    command = None if app.is_headless else local_tool(os.environ)
    if command is not None:
        start(lambda: _hand_over(command, clean))


def _hand_over(command: list[str], text: str) -> None:
    """Give the text to the tool; one that hangs is left to itself."""
    try:
        subprocess.run(
            command,
            input=text.encode(),
            timeout=_SECONDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return

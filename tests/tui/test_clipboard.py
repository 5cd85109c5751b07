"""Copying by a tool of this computer, where there is one and the screen is here."""

from __future__ import annotations

from pathlib import Path

from workbench.tui.clipboard import local_tool


def tool(folder: Path, name: str) -> str:
    made = folder / name
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return str(made)


def test_the_tool_of_the_desktop_that_runs_is_taken(tmp_path: Path) -> None:
    wayland, x11 = tool(tmp_path, "wl-copy"), tool(tmp_path, "xclip")
    path = {"PATH": str(tmp_path)}
    assert local_tool({**path, "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}) == [wayland]
    assert local_tool({**path, "DISPLAY": ":0"}) == [x11, "-selection", "clipboard"]
    assert local_tool(path) is None


def test_over_ssh_no_clipboard_of_the_other_computer_is_filled(tmp_path: Path) -> None:
    tool(tmp_path, "xclip")
    here = {"PATH": str(tmp_path), "DISPLAY": ":10"}
    assert local_tool({**here, "SSH_CONNECTION": "1 2 3 4"}) is None
    assert local_tool({**here, "SSH_TTY": "/dev/pts/1"}) is None


def test_without_a_tool_there_is_none(tmp_path: Path) -> None:
    assert local_tool({"PATH": str(tmp_path), "DISPLAY": ":0"}) is None

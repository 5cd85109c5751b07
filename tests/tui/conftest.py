"""What makes pictures of screens the same on every run and every machine."""

from __future__ import annotations

from pathlib import Path

import pytest

_VARIABLES = ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM", "TEXTUAL_FILTERS", "COLORTERM", "LC_ALL", "LANG")


@pytest.fixture(autouse=True)
def _one_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No animation, no colours or themes of whoever runs the tests, a home without configuration."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

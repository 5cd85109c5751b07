"""The report that a finished run leaves in the user's own state folder, and how fast an embedder was the last time."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import platformdirs

_KEPT = 200


def folder() -> Path:
    """Where reports are kept."""
    return platformdirs.user_state_path("workbench", appauthor=False) / "reindex"


def save(index: str, report: dict[str, Any], now_ms: int) -> str | None:
    """Write a report as one JSON document, whole or not at all; gives its path, None where it could not be written."""
    real = os.path.realpath(index)
    name = f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:8]}-{now_ms}-{secrets.token_hex(2)}.json"
    target = folder() / name
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = target.with_suffix(".new")
        aside.write_text(json.dumps({"index": real, **report}, indent=2), "utf-8")
        os.replace(aside, target)
    except OSError:
        return None
    return str(target)


def remember_speed(embedder: str, fingerprint: str, chars: int, seconds: float) -> None:
    """Keep how many code units a second an embedder took, for the next plan; where nothing can be written, none."""
    if seconds <= 0 or chars <= 0:
        return
    speeds = _speeds()
    speeds[f"{embedder} {fingerprint}"] = chars / seconds
    latest = dict(list(speeds.items())[-_KEPT:])
    target = folder() / "speeds.json"
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = target.with_suffix(f".{secrets.token_hex(2)}")
        aside.write_text(json.dumps(latest), "utf-8")
        os.replace(aside, target)
    except OSError:
        return


def seconds_for(embedder: str, fingerprint: str, chars: int) -> float | None:
    """Say how long so many code units would take, as the last run of this embedder went; None without one."""
    speed = _speeds().get(f"{embedder} {fingerprint}")
    return chars / speed if speed else None


def _speeds() -> dict[str, float]:
    try:
        found = json.loads((folder() / "speeds.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(key): float(value) for key, value in found.items() if isinstance(value, int | float) and value > 0}

"""The values behind a step as rows of a JSON tree: vectors as their shape, secrets masked, bounded in every way.

Made on a thread, since parsing a payload and going over it may take a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.core.summary import is_numeric_vector, summarize_vector
from workbench.recordings.model import Span, Step
from workbench.recordings.secrets import find_secrets, mask_text
from workbench.recordings.wide import find_wide

if TYPE_CHECKING:
    from workbench.index.job import Job
    from workbench.tui.recorded import OpenRecording

MOST_BYTES = 4 << 20
"""How much of one payload is parsed; what is left out is said."""

MOST_ROWS = 20_000
MOST_TEXT = 4_000
_FEWEST_NUMBERS = 8
_DEEPEST = 200

Name = str | int
Shapes = Mapping[tuple[Name, ...], tuple[int, float]]


class Sort(StrEnum):
    """What stands on a row."""

    HOLDS = "holds others"
    TEXT = "text"
    SCALAR = "scalar"
    VECTOR = "vector"
    SECRET = "secret"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class PayloadRow:
    """One value: how deep it stands, its key, what is shown of it, and the way to it."""

    depth: int
    key: str
    text: str
    sort: Sort
    path: str


def read_payload(recording: OpenRecording, step: Step, job: Job) -> tuple[PayloadRow, ...]:
    """Read what a recording holds of a step. Raises RecordingError when the file was changed, Cancelled."""
    rows: list[PayloadRow] = []
    for place, span in enumerate(step.spans):
        job.checkpoint()
        value = recording.value(Span(span.start, min(span.end, span.start + MOST_BYTES)))
        root = "" if len(step.spans) == 1 else str(place + 1)
        rows += payload_rows(value, root, MOST_ROWS - len(rows), job)
        if span.size > MOST_BYTES:
            left = f"{span.size - MOST_BYTES:,} bytes more are not shown"
            rows.append(PayloadRow(0, "", left, Sort.LEFT_OUT, root))
    return tuple(rows)


def payload_rows(value: object, root: str = "", most: int = MOST_ROWS, job: Job | None = None) -> list[PayloadRow]:
    """Lay a value out as rows; ``root`` names it where it is one of several."""
    secrets = find_secrets(value)
    shapes: Shapes = {each.path: (each.dims, each.norm) for each in find_wide(value)[0]}
    rows: list[PayloadRow] = []
    waiting: list[tuple[object, tuple[Name, ...], Name | None, int]] = []
    if root or not isinstance(value, dict | list):
        waiting.append((value, (), root or None, 0))
    else:
        waiting += reversed([(each, (name,), name, 0) for name, each in _members(value)])
    while waiting:
        if len(rows) >= most:
            rows.append(
                PayloadRow(0, "", f"{len(waiting):,} values and what is in them are not shown", Sort.LEFT_OUT, "")
            )
            break
        if job is not None and len(rows) % 1_000 == 0:
            job.checkpoint()
        node, path, name, depth = waiting.pop()
        text, sort = _shown(node, path, secrets, shapes)
        key = mask_text("" if name is None else str(name))[:MOST_TEXT]
        rows.append(PayloadRow(depth, key, text, sort, _path(root, path)))
        if sort is Sort.HOLDS and depth < _DEEPEST:
            waiting += reversed([(each, (*path, below), below, depth + 1) for below, each in _members(node)])
    return rows


def _members(node: object) -> Sequence[tuple[Name, object]]:
    if isinstance(node, dict):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, list) else []


def _path(root: str, path: tuple[Name, ...]) -> str:
    return mask_text(".".join([*filter(None, [root]), *map(str, path[:_DEEPEST])]))


def _shown(
    node: object, path: tuple[Name, ...], secrets: Mapping[tuple[Name, ...], str], shapes: Shapes
) -> tuple[str, Sort]:
    shape = shapes.get(path) or _shape(node, path)
    if shape is not None:
        return f"⟨{shape[0]:,} dims · norm {shape[1]:.4g}⟩", Sort.VECTOR
    if isinstance(node, str):
        if path in secrets:
            return f'"{secrets[path][:MOST_TEXT]}"', Sort.SECRET
        more = f" … {len(node):,} characters" if len(node) > MOST_TEXT else ""
        return f'"{node[:MOST_TEXT]}"{more}', Sort.TEXT
    if isinstance(node, dict):
        return f"{{{len(node):,}}}", Sort.HOLDS
    if isinstance(node, list):
        return f"[{len(node):,}]", Sort.HOLDS
    if node is None or isinstance(node, bool):
        return {None: "null", True: "true", False: "false"}[node], Sort.SCALAR
    return str(node)[:MOST_TEXT], Sort.SCALAR


def _shape(node: object, path: tuple[Name, ...]) -> tuple[int, float] | None:
    """Give dims and norm of a list of numbers that is a vector, and of a summary that stands for one."""
    if isinstance(node, list) and is_numeric_vector(node):
        named = any(each in ("embedding", "embeddings") for each in path[-2:])
        if named or len(node) >= _FEWEST_NUMBERS:
            summary = summarize_vector(node)
            return summary.dims, summary.norm
    if isinstance(node, dict) and node.keys() == {"dims", "norm"}:
        dims, norm = node["dims"], node["norm"]
        if type(dims) is int and isinstance(norm, int | float):
            return dims, float(norm)
    return None

"""The sources as rows: what stands on each, in which order, and how a row is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.tui.draw import Ground, Line, Tone, cells, clip, number
from workbench.tui.recorded import Recorded, recording_state, recording_tag, recording_took
from workbench.tui.routed import routed_state, routed_tag
from workbench.tui.signs import Signs
from workbench.tui.state import Folder, Node, Opened, Source, Space, State, Status
from workbench.tui.verdicts import TONES, WORDS, lead_of, space_state, tag_of

TAG_CELLS = 7

_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the tree. ``expanded`` is None where nothing can be opened; ``about`` is the fingerprint inside."""

    node: Node
    depth: int
    state: State
    name: str
    count: str = ""
    tag: str = ""
    tag_tone: Tone = Tone.MUTED
    expanded: bool | None = None
    about: str = ""


def rows_of(opened: Opened, signs: Signs, *, worst_first: bool, named: str = "") -> list[Row]:
    """Give every row that is visible, closed nodes with the worst of what they hold.

    With ``named`` only rows with that in their name, in any case, and what they are in; nothing is closed then.
    """
    if named:
        return _only_named(rows_of(_all_open(opened), signs, worst_first=worst_first), named)
    rows: list[Row] = []
    groups = [_group(opened, node, signs, worst_first) for node in opened.roots]
    if worst_first:
        groups.sort(key=lambda group: group[0])
    for _, group in groups:
        rows.extend(group)
    return rows


def _all_open(opened: Opened) -> Opened:
    return Opened(
        {key: replace(source, expanded=True) for key, source in opened.sources.items()},
        {key: replace(folder, expanded=True) for key, folder in opened.folders.items()},
        opened.roots,
    )


def is_named(row: Row, named: str) -> bool:
    """Whether a name, or the worst word about it (``2 err``), holds what is looked for, in any case."""
    return named.casefold() in row.name.casefold() or named.casefold() in row.tag.casefold()


def _only_named(rows: list[Row], named: str) -> list[Row]:
    """Keep the rows that match, and above each the ones it is in."""
    kept: list[Row] = []
    wanted = 0
    for row in reversed(rows):
        if is_named(row, named):
            wanted = row.depth
        elif row.depth >= wanted:
            continue
        else:
            wanted = row.depth
        kept.append(row)
    return kept[::-1]


def _group(opened: Opened, node: Node, signs: Signs, worst_first: bool) -> tuple[State, list[Row]]:
    if node.folder is not None:
        return _folder_rows(opened, opened.folders[node.folder], signs, worst_first)
    assert node.source is not None
    return source_rows(opened.sources[node.source], signs, depth=0, worst_first=worst_first)


def _folder_rows(opened: Opened, folder: Folder, signs: Signs, worst_first: bool) -> tuple[State, list[Row]]:
    groups = [source_rows(opened.sources[key], signs, depth=1, worst_first=worst_first) for key in folder.sources]
    if worst_first:
        groups.sort(key=lambda group: group[0])
    state = min((state for state, _ in groups), default=State.EMPTY)
    found = len(folder.sources) + len(folder.unopened)
    if folder.failure:
        state, tag = State.BAD, "no entry"
    elif folder.status in (Status.WAITING, Status.READING):
        state, tag = State.READING, signs.reading
    else:
        tag = "empty" if not found else "1 file" if found == 1 else f"{number(found)} files"
    node = Node(folder=folder.key)
    rows = [Row(node, 0, state, folder.label, "", tag, Tone.FAINT, expanded=folder.expanded)]
    if folder.expanded:
        for _, group in groups:
            rows.extend(group)
        if folder.unopened:
            rest = f"{signs.more} {number(len(folder.unopened))} more"
            rows.append(Row(Node(folder=folder.key, rest=True), 1, State.WAITING, rest))
    return state, rows


def source_rows(source: Source, signs: Signs, *, depth: int, worst_first: bool = False) -> tuple[State, list[Row]]:
    """Give the rows of a source, with its namespaces when it is expanded, and the worst state among them."""
    node = Node(source=source.key)
    if source.trouble is not None:
        problem = source.trouble.problem
        word = "waiting" if source.awaited else WORDS[problem] if problem is not None else "failed"
        return State.BAD, [Row(node, depth, State.BAD, source.label, "", word, Tone.ERROR)]
    if source.recorded is not None:
        return _recording_row(source, source.recorded, node, depth, signs)
    if source.routed is not None:
        tag, tone = routed_tag(source.routed, signs)
        state = routed_state(source.routed)
        return state, [Row(node, depth, state, source.label, number(source.routed.replay.count), tag, tone)]
    below = [space_row(source, place, signs, depth + 1) for place in range(len(source.spaces))]
    if worst_first:
        below.sort(key=lambda row: row.state)
    if not source.spaces:
        state = {Status.READ: State.EMPTY, Status.STOPPED: State.STOPPED, Status.READING: State.READING}.get(
            source.status, State.WAITING
        )
        tag = {State.EMPTY: "empty", State.STOPPED: "stopped", State.READING: signs.reading}.get(state, "")
        return state, [Row(node, depth, state, source.label, "", tag, Tone.FAINT)]
    worst = min(below, key=lambda row: row.state)
    tag, tone = (worst.tag, worst.tag_tone) if not source.expanded else ("", Tone.MUTED)
    count = worst.count if len(below) == 1 and not source.expanded else ""
    top = Row(node, depth, worst.state, source.label, count, tag, tone, source.expanded, worst.about)
    return worst.state, [top, *below] if source.expanded else [top]


def _recording_row(source: Source, recorded: Recorded, node: Node, depth: int, signs: Signs) -> tuple[State, list[Row]]:
    state = recording_state(recorded)
    tag, tone = recording_tag(recorded, signs)
    if source.so_far is not None:
        # What is known of a part is no verdict, but what failed in it has failed.
        if state is not State.BAD:
            state = State.READING if source.status is Status.READING else State.STOPPED
        if source.status is Status.READING:
            done, total = source.so_far.done, source.so_far.total
            tag, tone = (f"{100 * done // total} %" if total else signs.reading), Tone.FAINT
        elif not tag:
            tag, tone = "so far", Tone.FAINT
        return state, [Row(node, depth, state, source.label, "", tag, tone)]
    return state, [Row(node, depth, state, source.label, recording_took(recorded), tag, tone)]


def space_row(source: Source, place: int, signs: Signs, depth: int) -> Row:
    """One namespace."""
    space = source.spaces[place]
    row = Row(Node(source=source.key, space=place), depth, space_state(space), space.name)
    if space.report is not None:
        tag, tone = tag_of(space.report, signs)
        about = space.report.fingerprints.shown or ""
        return replace(row, count=number(space.report.fingerprints.count), tag=tag, tag_tone=tone, about=about)
    return replace(
        row, tag=_unread_tag(space, signs), tag_tone=Tone.ERROR if space.status is Status.FAILED else Tone.FAINT
    )


def _unread_tag(space: Space, signs: Signs) -> str:
    if space.status is Status.READING:
        return f"{100 * space.done // space.total} %" if space.total else signs.reading
    return {Status.WAITING: "", Status.STOPPED: "stopped", Status.FAILED: "failed", Status.READ: ""}[space.status]


def draw_row(row: Row, width: int, signs: Signs, *, here: bool, focused: bool) -> Line:
    """One row over the whole width: margin or cursor, sign or arrow, name, count and tag."""
    ground = Ground.PLAIN if not here else Ground.CURSOR if focused else Ground.CURSOR_BLURRED
    line = Line(ground)
    line.add(signs.cursor if here else " ", Tone.ACCENT if focused else Tone.FAINT)
    line.to(1 + 2 * row.depth)
    if row.expanded:
        line.add(signs.opened.ljust(signs.state_cells) + " ", Tone.MUTED)
    else:
        line.add(lead_of(row.state, signs), TONES[row.state], bold=row.state in (State.BAD, State.WARN))
    mark = f" {signs.closed}" if row.expanded is False else ""
    tail = _tail(row, width)
    name = row.name
    if line.cells + cells(name) + cells(mark) + tail.cells + 2 > width:
        # The kind of file goes first: every recording of a folder has the same. Then the folder does.
        name = _without_suffix(name)
    if row.depth and line.cells + cells(name) + cells(mark) + tail.cells + 2 > width:
        name = name.rpartition("/")[2] or name
    if line.cells + cells(name) + cells(mark) + tail.cells + 2 > width:
        # A name is worth more than a count that the detail says as well, and than room for a tag that is not there.
        tail = _tail(replace(row, count=""), width) if row.tag else Line().add(row.count, Tone.MUTED)
    faint = row.state is State.EMPTY or row.node.rest
    room = width - 1 - line.cells - tail.cells - 1
    line.add(clip(name, room - cells(mark), signs.more), Tone.FAINT if faint else Tone.TEXT, bold=here)
    line.add(mark, Tone.FAINT)
    return line.right(tail, width - 1).to(width)


def _without_suffix(name: str) -> str:
    return next((name[: -len(each)] for each in _SUFFIXES if name.endswith(each) and len(name) > len(each)), name)


def _tail(row: Row, width: int) -> Line:
    """Count and tag where there is room for both, else the tag, else the count."""
    tail = Line()
    if width < 32:
        return tail.add(row.tag, row.tag_tone) if row.tag else tail.add(row.count, Tone.MUTED)
    if row.count:
        tail.add(row.count, Tone.MUTED).add(" ").add(row.tag, row.tag_tone)
        return tail.to(cells(row.count) + 1 + TAG_CELLS)
    return (
        tail.add(row.tag, row.tag_tone)
        if cells(row.tag) >= TAG_CELLS or row.expanded
        else tail.add(row.tag, row.tag_tone).to(TAG_CELLS)
    )

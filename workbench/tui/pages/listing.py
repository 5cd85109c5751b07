"""A source or a folder as a whole: what is in it, worst first, and what was said when it was opened."""

from __future__ import annotations

from workbench.tui.draw import Line, Tone, clip, number, short_fingerprint, titled_rule
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.state import Folder, Source, State, Status
from workbench.tui.tree import Row
from workbench.tui.verdicts import TONES, lead_of


def source_page(source: Source, rows: list[Row], frame: Frame) -> Page:
    """Show the namespaces of one source."""
    page = Page()
    page.gap(frame)
    what = source.container or "not opened yet"
    facts = Line().add(source.label, bold=True).add(f" {frame.signs.dot} ", Tone.FAINT).add(what, Tone.MUTED)
    if source.adapter:
        facts.add(f" {frame.signs.dot} ", Tone.FAINT).add(source.adapter, Tone.MUTED)
    page.add(facts.right(_progress(source, frame), frame.width))
    page.add()
    if source.status in (Status.WAITING, Status.READING) and not source.spaces:
        page.add(Line().add(f"Opening {frame.signs.reading}", Tone.MUTED))
        return page
    _rows(page, "Namespaces", rows, frame)
    if source.status is Status.READ and not source.spaces:
        page.sentence("No namespace with vectors is in this file.", frame.width)
    if source.notes:
        page.add()
        page.add(titled_rule("Said when it was opened", frame.width, frame.signs.rule, focused=frame.focused))
        for note in source.notes:
            page.sentence(note, frame.width, at_most=4)
    page.add()
    page.add(titled_rule("File", frame.width, frame.signs.rule, focused=frame.focused))
    page.sentence(source.path, frame.width, at_most=3)
    held = "held: programs that write must wait" if source.held else "read-only, released when idle"
    page.add(Line().add(held, Tone.WARN if source.held else Tone.MUTED))
    return page


def folder_page(folder: Folder, rows: list[Row], frame: Frame) -> Page:
    """Show the sources of one folder, and how many files are none."""
    page = Page()
    page.gap(frame)
    page.add(Line().add(folder.label, bold=True).add(f" {frame.signs.dot} folder", Tone.MUTED))
    page.add()
    if folder.failure:
        page.sentence(folder.failure, frame.width, Tone.TEXT)
        return page
    if folder.status in (Status.WAITING, Status.READING):
        page.add(Line().add(f"Looking through it {frame.signs.reading}", Tone.MUTED))
        return page
    found = len(folder.sources) + len(folder.unopened)
    if not found:
        page.sentence(
            "Nothing in this folder can be opened: neither an index nor a recording is among its files.",
            frame.width,
            Tone.TEXT,
        )
    else:
        _rows(page, "Sources", rows, frame)
    if folder.skipped:
        page.add()
        files = "1 file is" if folder.skipped == 1 else f"{number(folder.skipped)} files are"
        page.sentence(f"{files} no source and left out.", frame.width, Tone.FAINT)
    return page


def _progress(source: Source, frame: Frame) -> Line:
    if source.status in (Status.WAITING, Status.READING):
        return Line().add(f"{frame.signs.reading} being read", Tone.ACCENT)
    if source.status is Status.STOPPED:
        return Line().add("stopped", Tone.FAINT)
    return Line()


def _rows(page: Page, title: str, rows: list[Row], frame: Frame) -> None:
    if not rows:
        return
    page.add(titled_rule(title, frame.width, frame.signs.rule, fact=Line().add(number(len(rows)), Tone.FAINT)))
    room = max(3, frame.height - len(page.lines) - 6)
    for row in rows[:room]:
        line = Line().add(lead_of(row.state, frame.signs), TONES[row.state], bold=True)
        fine = row.state in (State.OK, State.EMPTY)
        tail = Line().add(row.count.rjust(9), Tone.MUTED).add("  ").add(row.tag.ljust(9), row.tag_tone)
        middle = frame.width * 2 // 5 if frame.wide else frame.width - tail.cells
        line.add(clip(row.name, middle - line.cells - 1, frame.signs.more), Tone.MUTED if fine else Tone.TEXT)
        if frame.wide:
            room = frame.width - middle - tail.cells - 1
            line.to(middle).add(short_fingerprint(row.about, room, frame.signs.more), Tone.MUTED)
        page.add(line.right(tail, frame.width))
    if len(rows) > room:
        page.add(Line().add(f"{frame.signs.more} {number(len(rows) - room)} more", Tone.FAINT))

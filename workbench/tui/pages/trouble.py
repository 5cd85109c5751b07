"""A source that cannot be read: what happened, who holds it, that the file is fine, and what to do."""

from __future__ import annotations

from workbench.index.problems import Problem
from workbench.tui.draw import Ground, Line, Tone, clip_start, titled_rule
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.state import Source, Trouble

TITLES = {
    Problem.MISSING: "there is no such file",
    Problem.NOT_A_FILE: "not a regular file",
    Problem.DIRECTORY: "a folder, not an index",
    Problem.EMPTY: "an empty file",
    Problem.NOT_AN_INDEX: "not an index",
    Problem.NOT_READABLE_YET: "not readable yet",
    Problem.LOCKED: "locked by another program",
    Problem.BEING_WRITTEN: "being written by another program",
    Problem.TOO_NEW: "written by a newer program",
    Problem.TRUNCATED: "cut short",
    Problem.DAMAGED: "damaged",
    Problem.ENCRYPTED: "encrypted",
    Problem.URL: "a URL, not a file",
}


def trouble_page(source: Source, trouble: Trouble, others: tuple[int, int], frame: Frame) -> Page:
    """Show the sentence, the holder, and the keys. ``others`` are the sources that are open, of all."""
    page = Page()
    page.gap(frame)
    if frame.roomy:
        facts = Line().add(source.label, Tone.MUTED)
        if trouble.container:
            facts.add(f" {frame.signs.dot} ", Tone.FAINT).add(trouble.container, Tone.MUTED)
        page.add(facts.right(Line().add("not open", Tone.ERROR, bold=True), frame.width))
        page.add()
    title = TITLES[trouble.problem] if trouble.problem is not None else "could not be read"
    if trouble.container == "routing-log" and trouble.problem is Problem.EMPTY:
        title = "a log without a call"
    banner = Line(Ground.BAD).add(f"{frame.signs.bad} ", Tone.ERROR, bold=True).add(title, Tone.ERROR, bold=True)
    tail = Line().add(f"pid {trouble.holder.pid}", Tone.ERROR) if trouble.holder else Line()
    page.add(banner.right(tail, frame.width))
    page.add()
    page.sentence(trouble.message, frame.width, at_most=8)
    page.add()
    if trouble.holder is not None:
        page.add(titled_rule("Held by", frame.width, frame.signs.rule, focused=frame.focused))
        program = clip_start(trouble.holder.program, frame.width - 12, frame.signs.more)
        page.add(Line().add("program", Tone.FAINT).to(12).add(program, bold=True))
        page.add(Line().add("pid", Tone.FAINT).to(12).add(str(trouble.holder.pid), bold=True))
        page.add()
    page.add(titled_rule("What you can do", frame.width, frame.signs.rule, focused=frame.focused))
    for key, does, note in _ways(source, trouble):
        page.add(Line().add(key, Tone.ACCENT, bold=True).to(3).add(does).to(22).add(note, Tone.FAINT).cut(frame.width))
    opened, total = others
    if total > 1:
        page.add()
        page.add(Line().add(f"{opened} of {total} sources are open", Tone.MUTED))
    return page


def _ways(source: Source, trouble: Trouble) -> list[tuple[str, str, str]]:
    ways = [("r", "try again now", "")]
    if trouble.passing:
        waiting = "waiting; w again stops" if source.awaited else "opens once it is free"
        ways.insert(0, ("w", "wait for it", waiting))
    return [*ways, ("y", "copy this message", ""), ("x", "close this source", "the file is left alone")]

"""The detail pane: the tab strip of a namespace, and below it the view that is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip

from workbench.tui.draw import Line, Tone
from workbench.tui.pages.overview import facts
from workbench.tui.pages.parts import ROOMY
from workbench.tui.pages.recording import recording_facts, so_far_facts
from workbench.tui.pages.recording_news import news_line
from workbench.tui.signs import Signs
from workbench.tui.state import Status
from workbench.tui.views import Desk, Subject, View
from workbench.tui.views.overview import Overview
from workbench.tui.views.tabs import RECORDING_TABS, ROUTING_TABS, TABS, Tab, tabs_of
from workbench.tui.widgets.lines import Bar, look_of, strip_of

_LEFT = 2


@dataclass(frozen=True, slots=True)
class Placed:
    """One tab on the strip: where it begins and ends in cells, and its line."""

    tab: Tab
    start: int
    end: int
    line: Line


def place_tabs(subject: Subject, active: str, width: int, signs: Signs) -> list[Placed]:
    """Lay out the tabs in a width: with digits and tags, else without tags of closed ones, else without digits."""
    for digits, tags, gap in ((True, True, 3), (True, False, 3), (False, False, 3), (False, False, 2)):
        placed = _placed(subject, active, signs, digits=digits, tags=tags, gap=gap)
        if placed[-1].end <= width:
            break
    return placed


def _placed(subject: Subject, active: str, signs: Signs, *, digits: bool, tags: bool, gap: int) -> list[Placed]:
    placed: list[Placed] = []
    at = 0
    report = subject.space.report
    for number, tab in enumerate(tabs_of(subject), 1):
        here = tab.id == active
        line = Line()
        if digits:
            line.add(f"{number} ", Tone.ACCENT if here else Tone.FAINT)
        line.add(tab.title, Tone.TEXT if here else Tone.MUTED, bold=here)
        tag, tone = tab.tag(report, signs) if report is not None else ("", Tone.MUTED)
        if subject.recorded is not None:
            tag, tone = tab.recorded_tag(subject.recorded, signs)
        if tag and tags:
            line.add(f" {tag}", tone)
        placed.append(Placed(tab, at, at + line.cells, line))
        at += line.cells + gap
    return placed


class TabStrip(Bar):
    """The facts where there is room, the titles, and a rule that is heavy under the active one; a click selects."""

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, id: str) -> None:
            super().__init__()
            self.id = id

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self.subject: Subject | None = None
        self.active = TABS[0].id

    def show(self, subject: Subject | None, active: str) -> None:
        """Stand for a namespace, or for nothing."""
        self.subject, self.active = subject, active
        self.display = subject is not None and len(tabs_of(subject)) > 1
        self.styles.height = len(self.rows(max(20, self.size.width)))
        self.refresh()

    def rows(self, width: int) -> list[Line]:
        """Give all its rows."""
        subject = self.subject
        if subject is None:
            return []
        _, signs = look_of(self)
        inner = width - 2 * _LEFT
        placed = place_tabs(subject, self.active, inner, signs)
        titles, rule = Line(), Line()
        for each in placed:
            titles.to(each.start).extend(each.line.spans)
            if each.tab.id == self.active:
                rule.rule_to(each.start, signs.rule)
                rule.add(signs.bar * (each.end - each.start), Tone.ACCENT)
        rule.rule_to(inner, signs.rule)
        rows = [titles, rule]
        if subject.recorded is not None:
            # What a recording does not hold must be seen whatever the room is.
            so_far, reading = subject.source.so_far, subject.source.status is Status.READING
            if so_far is not None:
                head = so_far_facts(subject.recorded, so_far, signs, inner, reading=reading)
            else:
                head = recording_facts(subject.recorded, signs, inner)
            told = news_line(subject.source, signs, inner)
            if told is not None:
                rows = [told, Line(), *rows] if self.app.size.height >= ROOMY else [told, *rows]
            rows = [Line(), head, Line(), *rows] if self.app.size.height >= ROOMY else [head, *rows]
        elif self.app.size.height >= ROOMY:
            rows = [Line(), facts(subject.space, signs, inner), Line(), *rows]
        return [Line().add(" " * _LEFT).extend(row.spans) for row in rows]

    @property
    def text(self) -> str:
        """What can be read on it."""
        return "\n".join(row.text for row in self.rows(self.size.width))

    def line(self, width: int) -> Line:
        """Give the first of them."""
        return self.rows(width)[0]

    def render_line(self, y: int) -> Strip:
        """One of them."""
        width = self.size.width
        rows = self.rows(width)
        return strip_of(rows[y] if y < len(rows) else Line(), width, self)

    def on_resize(self) -> None:
        """Show the facts or not, by the height of the terminal."""
        if self.subject is not None:
            self.styles.height = len(self.rows(max(20, self.size.width)))

    def on_click(self, event: events.Click) -> None:
        """Select the tab that was clicked."""
        subject = self.subject
        if subject is None or event.y < len(self.rows(self.size.width)) - 2:
            return
        _, signs = look_of(self)
        for each in place_tabs(subject, self.active, self.size.width - 2 * _LEFT, signs):
            if each.start <= event.x - _LEFT < each.end:
                self.post_message(self.Picked(each.tab.id))


class DetailPane(Vertical):
    """Shows the view that was last looked at for the namespace under the cursor; a page for anything else."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="detail-pane")
        self._desk = desk
        self._strip = TabStrip()
        self.overview = Overview(desk)
        self._views: dict[str, View] = {"overview": self.overview}
        self._looked_at: dict[tuple[int | None, int | None], str] = {}
        self.subject: Subject | None = None
        self.view: View = self.overview

    def compose(self) -> ComposeResult:
        """Strip and overview; the other views come when they are looked at."""
        yield self._strip
        yield self.overview

    @property
    def active(self) -> str:
        """Which view is shown."""
        if self.subject is None:
            return "overview"
        first = tabs_of(self.subject)[0].id
        return self._looked_at.get((self.subject.node.source, self.subject.node.space), first)

    @property
    def says_view(self) -> bool:
        """Whether the header names the view: not where it is the first one."""
        return self.subject is not None and self.active != tabs_of(self.subject)[0].id

    @property
    def title(self) -> str:
        """The title of the view that is shown, empty where there is only one page."""
        return "" if self.subject is None else next(tab.title for tab in tabs_of(self.subject) if tab.id == self.active)

    def show(self, subject: Subject) -> None:
        """Show a namespace, in the view in which it was left."""
        self.subject = subject
        self._to_front()

    def show_page(self) -> None:
        """Show the page of what is no namespace; ``overview.show_page`` says which."""
        self.subject = None
        self._to_front()

    def choose(self, id: str) -> View | None:
        """Look at the namespace in another view."""
        if self.subject is None or id not in {tab.id for tab in tabs_of(self.subject)}:
            return None
        self._looked_at[self.subject.node.source, self.subject.node.space] = id
        self._to_front()
        return self.view

    def forget(self, source: int) -> None:
        """Forget which views were looked at for the namespaces of a source that was closed."""
        self._looked_at = {key: id for key, id in self._looked_at.items() if key[0] != source}

    def _to_front(self) -> None:
        id = self.active
        view = self._views.get(id)
        if view is None:
            view = self._views[id] = next(tab for tab in (*TABS, *RECORDING_TABS, *ROUTING_TABS) if tab.id == id).make(
                self._desk
            )
            self.mount(view)
        focused = self.has_focus_within
        if view is not self.view:
            self.view.drop()
            self.view.display = False
            self.view = view
        view.display = True
        self._strip.show(self.subject, id)
        if self.subject is not None:
            view.show(self.subject)
        if focused and not view.has_focus_within:
            self.call_after_refresh(self.take_focus)

    def take_focus(self) -> None:
        """Give the focus to the view, as soon as it stands."""
        if self.view.is_mounted:
            self.view.take_focus()
        else:
            self.call_after_refresh(self.take_focus)

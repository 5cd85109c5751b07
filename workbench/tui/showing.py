"""What is shown for what is under the cursor: its page, its header, the places its keys belong to."""

from __future__ import annotations

from dataclasses import replace

from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.tui.actions import Place
from workbench.tui.pages.listing import folder_page, source_page
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.trouble import trouble_page
from workbench.tui.pages.welcome import welcome
from workbench.tui.signs import Signs
from workbench.tui.state import Node, Opened, Source, Space, Status
from workbench.tui.tree import source_rows
from workbench.tui.verdicts import TONES, incoming_state, sign_of
from workbench.tui.views import Subject
from workbench.tui.widgets.bars import Header


def space_at(opened: Opened, node: Node | None) -> Space | None:
    """Give the namespace at a node; a closed source with a single one stands for it."""
    if node is None or node.source is None or node.source not in opened.sources:
        return None
    source = opened.sources[node.source]
    if node.space is None and len(source.spaces) == 1 and not source.expanded:
        return source.spaces[0]
    return opened.space(node)


def source_at(opened: Opened, node: Node | None) -> Source | None:
    """Give the source at a node, or of the namespace there."""
    return opened.sources.get(node.source) if node is not None and node.source is not None else None


def page_at(opened: Opened, node: Node | None, frame: Frame) -> Page:
    """Give the page of whatever is at a node that is no namespace."""
    if opened.nothing:
        return welcome(frame)
    if node is not None and node.folder is not None and node.folder in opened.folders:
        return _folder_page(opened, node.folder, frame)
    source = source_at(opened, node)
    if source is None:
        return Page()
    if source.trouble is not None:
        return trouble_page(source, source.trouble, _how_many_open(opened), frame)
    _, rows = source_rows(replace(source, expanded=True), frame.signs, depth=0, worst_first=True)
    return source_page(source, rows[1:] if source.spaces else [], frame)


def _folder_page(opened: Opened, key: int, frame: Frame) -> Page:
    folder = opened.folders[key]
    closed = (replace(opened.sources[each], expanded=False) for each in folder.sources)
    rows = [source_rows(source, frame.signs, depth=0)[1][0] for source in closed]
    return folder_page(folder, sorted(rows, key=lambda row: row.state), frame)


def _how_many_open(opened: Opened) -> tuple[int, int]:
    everyone = opened.sources.values()
    return sum(source.trouble is None for source in everyone), len(everyone)


def header_at(opened: Opened, node: Node | None, incoming: Fingerprint | None, signs: Signs, view: str = "") -> Header:
    """Give the way to a node and the view, and at the right the incoming verdict, else how much could be opened."""
    if opened.nothing or node is None:
        return Header(("nothing open",) if opened.nothing else ())
    space = space_at(opened, node)
    if incoming is None:
        readable, everyone = _how_many_open(opened)
        fact = f"{readable} of {everyone} sources open" if readable < everyone else ""
        return Header(_path_to(opened, node, view), fact=fact)
    header = Header(_path_to(opened, node, view), fingerprint_text(incoming))
    verdict = space.report.incoming if space is not None and space.report is not None else None
    if verdict is None:
        return header
    state, word = incoming_state(verdict)
    return replace(header, verdict=f"{sign_of(state, signs)} {word}", verdict_tone=TONES[state])


def _path_to(opened: Opened, node: Node, view: str) -> tuple[str, ...]:
    if node.folder is not None:
        return (opened.folders[node.folder].label,)
    source = source_at(opened, node)
    if source is None:
        return ()
    space = space_at(opened, node)
    if source.recorded is not None or source.routed is not None:
        return (source.label, *filter(None, [view]))
    return (source.label,) if space is None else (source.label, space.name, *filter(None, [view]))


def subject_at(opened: Opened, node: Node | None) -> Subject | None:
    """Give the namespace or recording at a node for the views; None where there is none, or its source has failed."""
    source, space = source_at(opened, node), space_at(opened, node)
    if source is None or node is None or source.trouble is not None:
        return None
    if source.recorded is not None or source.routed is not None:
        return Subject(Node(source=source.key), source.request, source, Space(source.label, Status.READ))
    if space is None:
        return None
    return Subject(Node(source=source.key, space=node.space or 0), source.request, source, space)


def places_at(opened: Opened, node: Node | None, *, in_tree: bool, reading: bool) -> set[Place]:
    """Give the places that the keys of the moment belong to."""
    if opened.nothing:
        return {Place.NOTHING}
    here = {Place.OPEN, Place.SOURCES if in_tree else Place.DETAIL}
    source, space = source_at(opened, node), space_at(opened, node)
    subject = subject_at(opened, node)
    if subject is not None:
        routed = subject.routed is not None
        here.add(Place.ROUTING if routed else Place.RECORDING if subject.recorded is not None else Place.NAMESPACE)
    if source is not None:
        given_up = source.status is Status.STOPPED or (space is not None and space.status is Status.FAILED)
        if source.trouble is not None or given_up:
            here.add(Place.UNREADABLE)
        if source.trouble is not None and source.trouble.passing:
            here.add(Place.LOCKED)
        if source.news and not source.followed:
            here.add(Place.CHANGED)
    if reading:
        here.add(Place.READING)
    return here

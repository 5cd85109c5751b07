"""The command palette: every action of the table, and every source and namespace by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from workbench.core.text import inert
from workbench.tui.actions import ACTIONS
from workbench.tui.screens.main import MainScreen
from workbench.tui.state import Node

_MOST_SOURCES = 300


class Everything(Provider):
    """Offers what the main screen can do and show. Names of files enter as inert content, never as markup."""

    def _offers(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        """Title, help and what to run."""
        screen = self.screen
        if not isinstance(screen, MainScreen):
            return
        view = screen.view_in_focus
        own = view.actions_here() if view is not None else ()
        for action in (*own, *ACTIONS):
            run = getattr(view if action in own else screen, f"action_{action.id}", None)
            if run is not None and action.id != "palette":
                yield f"{action.title}  ({action.shown})", action.help, run
        opened = screen.session.opened
        for source in list(opened.sources.values())[:_MOST_SOURCES]:
            yield inert(source.label), "go to this source", partial(screen.go_to, Node(source=source.key))
            for place, space in enumerate(source.spaces):
                node = Node(source=source.key, space=place)
                yield inert(f"{source.label} › {space.name}"), "go to this namespace", partial(screen.go_to, node)

    async def discover(self) -> Hits:
        """Offer the actions, before anything is typed."""
        for title, help_text, run in self._offers():
            yield DiscoveryHit(Content(title), run, text=title, help=help_text)

    async def search(self, query: str) -> Hits:
        """Offer what matches, in any case."""
        matcher = self.matcher(query)
        for title, help_text, run in self._offers():
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, Content(title), run, text=title, help=help_text)

"""The incoming embedder: held against every namespace that is open, in turns that leave the screen its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.tui.reading import Reader
from workbench.tui.state import Node, Opened, Source

if TYPE_CHECKING:
    from workbench.checkup.report import IncomingVerdict
    from workbench.index.model import IndexSource, Namespace

TURN_SECONDS = 0.008
"""How long namespaces are judged before the screen gets its turn."""

Run = Callable[[Coroutine[Any, Any, None], str], object]
Live = dict[int, tuple["IndexSource", tuple["Namespace", ...]]]
"""The open indexes by the keys of their sources."""


class Judging:
    """Which embedder is incoming, and what is said of it; ``opened`` and ``live`` are the session's own."""

    def __init__(
        self,
        reader: Reader,
        opened: Opened,
        live: Live,
        *,
        run: Run,
        changed: Callable[[], None],
        incoming: Fingerprint | None,
    ) -> None:
        self.incoming = incoming
        self._reader = reader
        self._opened = opened
        self._live = live
        self._run = run
        self._changed = changed

    def set_incoming(self, incoming: Fingerprint | None, first: Node | None = None) -> None:
        """Hold another embedder against everything that is known, ``first`` the namespace that is looked at.

        That needs no query; but many namespaces are judged in turns, so that the screen never waits for the last one.
        """
        self.incoming = incoming
        every = [(source, place) for source in self._opened.sources.values() for place in range(len(source.spaces))]
        if first is not None and first.source in self._opened.sources and first.space is not None:
            every.insert(0, (self._opened.sources[first.source], first.space))
        rest = iter(every)
        if self._judge_some(rest):
            self._changed()
        else:
            self._run(self._judge_rest(incoming, rest), "judging")

    async def _judge_rest(self, incoming: Fingerprint | None, rest: Iterator[tuple[Source, int]]) -> None:
        """Go on where the last turn ended, unless another embedder has come meanwhile."""
        done = False
        while not done and self.incoming == incoming:
            await asyncio.sleep(0)
            done = self._judge_some(rest)
        await asyncio.sleep(0)
        self._changed()

    def _judge_some(self, rest: Iterator[tuple[Source, int]]) -> bool:
        """Judge for the length of a turn, and say whether nothing is left."""
        end = time.monotonic() + TURN_SECONDS
        for source, place in rest:
            self.judge_anew(source, place)
            if time.monotonic() > end:
                return False
        return True

    def judge(self, node: Node, incoming: Fingerprint) -> IncomingVerdict | None:
        """Hold an embedder against one namespace; None where nothing has been read. Nothing is changed by it."""
        live, space = self._namespace(node), self._opened.space(node)
        if live is None or space is None or space.report is None:
            return None
        return self._reader.hold_against(live, space.report, incoming)

    def held_against(self, node: Node) -> Fingerprint | None:
        """Give the fingerprint that decides in one namespace, None when nothing says one or nothing has been read."""
        from workbench.checkup.incoming import held_against

        live, space = self._namespace(node), self._opened.space(node)
        if live is None or space is None or space.report is None:
            return None
        return held_against(live, space.report.fingerprints)

    def _namespace(self, node: Node) -> Namespace | None:
        opened = self._live.get(node.source) if node.source is not None else None
        if opened is None or node.space is None or node.space >= len(opened[1]):
            return None
        return opened[1][node.space]

    def judge_anew(self, source: Source, place: int) -> None:
        """Judge anew what was read under another embedder than the one that is incoming now."""
        live = self._live.get(source.key)
        if live is None or place >= len(source.spaces):
            return
        space = source.spaces[place]
        if space.report is None:
            return
        judged = space.report.incoming.fingerprint if space.report.incoming is not None else None
        if judged != (fingerprint_text(self.incoming) if self.incoming is not None else None):
            verdict = self._reader.hold_against(live[1][place], space.report, self.incoming)
            space.report = replace(space.report, incoming=verdict)

"""Where the vectors of a call go, said around the call, so that a log can say it and the protocol stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from workbench.core.fingerprint import Fingerprint


@dataclass(frozen=True, slots=True)
class Destination:
    """A namespace, and the keys there of a call's texts in their order (none for queries, or when not known yet).

    ``fingerprint`` is what the namespace was built with, None when it is not known or nothing is in it yet.
    """

    namespace: str
    keys: tuple[str, ...] = ()
    fingerprint: Fingerprint | None = None


_current: ContextVar[Destination | None] = ContextVar("destination", default=None)


@contextmanager
def vectors_for(
    namespace: str, keys: Sequence[str] = (), *, fingerprint: Fingerprint | None = None
) -> Iterator[Destination]:
    """Say that the vectors asked for in this block go to, or are compared within, a namespace.

    Holds for the calls that begin inside it, in this task and those it starts. ``keys`` belong to one call: one key a
    text, in the same order.
    """
    destination = Destination(namespace, tuple(keys), fingerprint)
    token = _current.set(destination)
    try:
        yield destination
    finally:
        _current.reset(token)


def current_destination() -> Destination | None:
    """Give what was said around this call."""
    return _current.get()

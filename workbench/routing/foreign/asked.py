"""What a foreign log says of one attempt before it is known which leg it was, and which failures wait for a rescue."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from workbench.core.routing import Outcome
from workbench.routing.model import Attempt

_MOST_SCOPES = 10_000
_MOST_WAITING = 64
_ROUNDING_MS = 1.0
_RETURNED = (Outcome.VECTOR, Outcome.PARTIAL, Outcome.NULL)


class Asked(NamedTuple):
    """One attempt as logged.

    Attributes:
        attempt: all that needs no guess; its leg and its call are not filled in yet.
        names: who was asked, from the name that says most of routing to the one that says least (a group, a model, an
            address); None where the log does not say.
        scope: within what a failure and its rescue stand together (a trace); None when the log does not say.
        group: a narrower such thing (the parent span), None likewise.
        texts: a hash of what was to be embedded, by which attempts of one call know one another; None when not logged.
    """

    attempt: Attempt
    names: tuple[str | None, ...]
    scope: str | None = None
    group: str | None = None
    texts: int | None = None

    @property
    def failed(self) -> bool:
        """Whether it gave nothing."""
        return self.attempt.outcome not in _RETURNED


Held = TypeVar("Held")


@dataclass(slots=True)
class _Failure(Generic[Held]):
    asked: Asked
    held: Held


@dataclass(slots=True)
class OpenFailures(Generic[Held]):
    """Failures that another attempt may follow within one call, and what is held of each. Bounded: the oldest go."""

    _by_scope: OrderedDict[str | None, list[_Failure[Held]]] = field(default_factory=OrderedDict)

    def add(self, asked: Asked, held: Held) -> None:
        """Remember a failure."""
        waiting = self._by_scope.setdefault(asked.scope, [])
        waiting.append(_Failure(asked, held))
        # Without a scope only the next attempt can be the rescue.
        del waiting[: -1 if asked.scope is None else -_MOST_WAITING]
        self._by_scope.move_to_end(asked.scope)
        if len(self._by_scope) > _MOST_SCOPES:
            self._by_scope.popitem(last=False)

    def take(self, asked: Asked) -> Held | None:
        """Give what is held of the failure that this attempt follows, and forget it.

        It is the last to have ended before the attempt began, under the same parent rather than under another, and
        never one of other texts.
        """
        waiting = self._by_scope.get(asked.scope)
        if not waiting:
            return None
        possible = [failure for failure in waiting if _may_follow(failure.asked, asked)]
        if not possible:
            return None
        best = max(possible, key=lambda each: (each.asked.group == asked.group, each.asked.attempt.ended_ms))
        waiting.remove(best)
        if not waiting:
            del self._by_scope[asked.scope]
        return best.held


def _may_follow(failure: Asked, asked: Asked) -> bool:
    if None not in (failure.texts, asked.texts) and failure.texts != asked.texts:
        return False
    if failure.attempt.instance != asked.attempt.instance:
        return False
    return failure.attempt.ended_ms <= asked.attempt.started_ms + _ROUNDING_MS

"""Which attempts of a foreign log are one call: a failure of the primary and the rescue that follows it."""

from __future__ import annotations

from collections import OrderedDict

from workbench.core.routing import Leg
from workbench.routing.foreign.asked import Asked, OpenFailures

_MOST_SCOPES = 10_000
_LONGEST_ID = 200


class CallNames:
    """Names the call of each attempt, in the order of the log.

    A trace may hold many calls (a loop over pages), so its id alone names none: a call begins where the primary is
    asked, or the fallback without a failure before it, and ends where somebody answers.

    Args:
        scope_is_one_request: the scope never holds more than one call, so that asking a leg again in it is a retry.
    """

    def __init__(self, *, scope_is_one_request: bool) -> None:
        self._one_request = scope_is_one_request
        self._failures: OpenFailures[str] = OpenFailures()
        self._begun: OrderedDict[str, int] = OrderedDict()
        self.unnamed = 0
        """Attempts of which the log does not say what they belong to: they are paired by adjacency."""

    def call_of(self, asked: Asked, leg: Leg) -> str | None:
        """Give the id of an attempt's call, None when only adjacency can tell."""
        if asked.scope is None:
            self.unnamed += 1
            return None
        found = None
        if leg is Leg.FALLBACK or self._one_request or asked.texts is not None:
            found = self._failures.take(asked)
        name = found or self._new(asked)
        if asked.failed:
            self._failures.add(asked, name)
        return name

    def _new(self, asked: Asked) -> str:
        base = (asked.group or asked.scope or "")[:_LONGEST_ID]
        count = self._begun.pop(base, 0) + 1
        self._begun[base] = count
        if len(self._begun) > _MOST_SCOPES:
            self._begun.popitem(last=False)
        return base if count == 1 else f"{base}#{count}"

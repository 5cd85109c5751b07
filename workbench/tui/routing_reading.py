"""What happens on a thread for a routing log: it is replayed, then its keys are looked up in the open indexes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from workbench.core.job import Cancelled, Job
from workbench.tui import collector, messages
from workbench.tui.reading import Reader, Tell, since, trouble_of

if TYPE_CHECKING:
    from workbench.index.model import IndexSource
    from workbench.index.problems import SourceError
    from workbench.tui.routed import Routed


def read_log(
    reader: Reader, key: int, request: int, path: str, why_no_index: SourceError, job: Job, tell: Tell
) -> bool:
    """Replay what is no index and tell how that went; False, with nothing told, when it is no routing log either."""
    from workbench.tui.routed import arrange_log

    started = reader.clock()
    try:
        with collector.held_back():  # a million attempts in columns: nothing a pass could find
            log = reader.replay(path, job)
            if log is None:
                return False
            routed = arrange_log(log)
        # What will show it is imported here: on the event loop it would be in the way of keys.
        import_module("workbench.tui.views.replay")
        job.checkpoint()
    except Cancelled:
        tell(messages.SourceDone(key, request, True, since(reader, started)))
    except Exception as error:
        tell(messages.SourceUnreadable(key, request, trouble_of(error)))
    else:
        tell(messages.LogReplayed(key, request, routed))
        tell(messages.SourceDone(key, request, False, since(reader, started)))
    return True


def join_log(
    reader: Reader,
    key: int,
    request: int,
    routed: Routed,
    indexes: Sequence[IndexSource],
    job: Job,
    tell: Tell,
) -> None:
    """Look the keys of a log up in the indexes that are open; every outcome is told, none is raised."""
    from workbench.tui.routed import with_joined

    try:
        job.checkpoint()
        joined = reader.look_up(routed.replay.ledger, indexes, job) if indexes else ()
        answer = with_joined(routed, joined, looked_up=bool(indexes))
        job.checkpoint()
    except Cancelled:
        tell(messages.LogJoined(key, request, None))
    except Exception as error:
        tell(messages.LogJoined(key, request, None, trouble_of(error).message))
    else:
        tell(messages.LogJoined(key, request, answer))

"""Ids that stand more than once: a search then returns one chunk twice, and an update changes only one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.report import Code, DuplicateVerdict, Finding
from workbench.checkup.wording import counted, verb

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import Namespace


def judge_duplicates(namespace: Namespace, job: Job | None = None) -> DuplicateVerdict:
    """Count the ids that more than one row carries."""
    found = namespace.duplicates(job)
    if found.ids == 0:
        return DuplicateVerdict(found)
    message = (
        f"{counted(found.ids, 'id')} {verb(found.ids, 'stands', 'stand')} on {counted(found.rows, 'row')}: "
        "a search can return the same id several times, and deleting or replacing by id is ambiguous"
    )
    fix = "delete the older row of each id, or give every chunk an id of its own, and index those again"
    return DuplicateVerdict(found, (Finding(Code.DUPLICATE_IDS, message, fix),))

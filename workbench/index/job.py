"""The job of a long read, as this room's protocols name it; it is the same one for recordings (core/job.py)."""

from workbench.core.job import Cancelled as Cancelled
from workbench.core.job import Interruptible as Interruptible
from workbench.core.job import Job as Job

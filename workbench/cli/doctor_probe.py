"""`workbench doctor --probe EMBEDDER`: how much of a text an embedder reads, found by asking it, after consent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.output import Sign, is_terminal, stderr, stdout

if TYPE_CHECKING:
    from workbench.core.ceiling import ChunkCeiling
    from workbench.core.job import Job
    from workbench.embedders.activity import Activity
    from workbench.embedders.clip_probe import ProbedCeiling

MOST_CHARS = 200_000
"""The longest text that is sent."""


def probe(name: str, *, yes: bool, as_json: bool) -> int:
    """Measure the ceiling of an embedder; exit code 1 when it declares, or is listed with, more than it reads."""
    from workbench.cli.embedders import find_embedder, open_named
    from workbench.cli.waiting import interruptible
    from workbench.core.coroutines import run_in_job
    from workbench.core.fingerprint import Fingerprint, fingerprint_text
    from workbench.embedders.activity import RequestSent
    from workbench.embedders.clip_probe import find_ceiling, most_requests
    from workbench.embedders.configured import hosts_of
    from workbench.embedders.failures import EmbedderError
    from workbench.embedders.models import resolve_index_ceiling

    configured = find_embedder(name)
    fingerprint = Fingerprint(configured.model_id, configured.dimensions)
    ceiling = resolve_index_ceiling(None, configured.max_input_chars, fingerprint)
    hosts = hosts_of(configured)
    if hosts and not yes:
        _confirm(name, hosts, most_requests(most=MOST_CHARS))
    provider = open_named(name)
    requests = 0

    def count(activity: Activity) -> None:
        nonlocal requests
        if isinstance(activity, RequestSent):
            requests += 1
            stderr().transient(f"{requests:,} requests, {activity.chars:,} characters in the last")

    provider.watch(count)

    async def measure() -> ProbedCeiling:
        try:
            return await find_ceiling(provider, most=MOST_CHARS)
        finally:
            await provider.dispose()

    def work(job: Job) -> ProbedCeiling:
        return run_in_job(measure, job)

    try:
        found = interruptible(work)
    except EmbedderError as error:
        stderr().clear_transient()
        stderr().verdict(Sign.ERROR, f"{error}; after {requests:,} requests", indent=0)
        return 2
    stderr().clear_transient()
    less = found.beyond is not None and found.chars < ceiling.chars
    if as_json:
        stdout().json_document(_document(name, fingerprint_text(fingerprint), ceiling, found, requests))
    else:
        _write(name, ceiling, found, requests, less=less)
    return int(less)


def _confirm(name: str, hosts: tuple[str, ...], most: int) -> None:
    out = stderr()
    out.verdict(
        Sign.WARNING,
        f"measuring sends English words to {' and '.join(hosts)}, to '{name}': at most {most:,} requests of two texts "
        f"each, from 64 to {MOST_CHARS:,} characters; that may cost money",
        indent=0,
    )
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise click.UsageError("nothing was sent: confirm at a terminal, or add --yes (a pipe cannot confirm)")
    if not click.confirm("send them?", default=False, err=True):
        raise click.UsageError("nothing was sent")


def _write(name: str, ceiling: ChunkCeiling, found: ProbedCeiling, requests: int, *, less: bool) -> None:
    out = stdout()
    if found.beyond is None:
        out.verdict(
            Sign.OK, f"{name} reads all of a text of {found.chars:,} characters, the longest that was sent", indent=0
        )
    else:
        refuses = found.beyond.value == "refused"
        does = "refuses the text" if refuses else "leaves the rest unread and does not say so"
        out.verdict(
            Sign.WARNING if less else Sign.OK,
            f"{name} reads {found.chars:,} characters; at {found.first_lost or 0:,} it {does}",
            indent=0,
        )
    says = {
        "embedder": "it declares",
        "registry": "the model table lists",
        "default": "nothing declares one, so this is assumed:",
    }.get(ceiling.source, "given is")
    out.verdict(Sign.NOTE, f"{says} {ceiling.chars:,} characters")
    if found.beyond is not None and found.chars and (less or ceiling.source == "default"):
        out.verdict(Sign.NOTE, f"to go by what was measured: max_input_chars = {found.chars} in its configuration")
    out.verdict(Sign.NOTE, f"measured with English words in {requests:,} requests; denser text has more tokens")


def _document(
    name: str, fingerprint: str, ceiling: ChunkCeiling, found: ProbedCeiling, requests: int
) -> dict[str, Any]:
    return {
        "embedder": name,
        "fingerprint": fingerprint,
        "ceiling": {"chars": ceiling.chars, "source": ceiling.source},
        "reads": found.chars,
        "beyond": None if found.beyond is None else found.beyond.value,
        "first_lost": found.first_lost,
        "requests": requests,
        "texts": found.texts,
        "probes": [
            {"chars": each.chars, "beyond": each.beyond.value, "distance": each.distance} for each in found.probes
        ],
    }

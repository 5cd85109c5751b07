"""What a re-index would do, found by reading alone: nothing is sent, nothing is written."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.core.text import utf16_length
from workbench.embedders.models import model_table, resolve_index_ceiling
from workbench.embedders.pairs import conflict_in
from workbench.index.adapters.labels_kept import labelled
from workbench.index.opening import attach
from workbench.index.schema import first_row
from workbench.reindex import living
from workbench.reindex.copying import fits, keeps, may_be_long
from workbench.reindex.estimating import SAMPLE, cost_of, estimate_tokens
from workbench.reindex.model import FateCounts, Plan, Range, ReindexError, Settings
from workbench.reindex.proving import MOST_SENT
from workbench.reindex.regaining import MOST
from workbench.reindex.reporting import seconds_for
from workbench.reindex.splitting import split

if TYPE_CHECKING:
    import duckdb

    from workbench.core.ceiling import ChunkCeiling
    from workbench.core.job import Job
    from workbench.embedders.models import ModelEntry
    from workbench.embedders.protocol import BuildingProvider
    from workbench.embedders.tokens import TokenCounter
    from workbench.index.mapping import TableMapping

PROBE_TEXTS = 21
"""What consent adds to the texts of the corpus: one first probe, and 20 chunks embedded again to verify.

Up to 20 passages that the old embedder never read come to that."""

_ROW_BYTES = 200
_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """The embedder that a namespace is to be built with: its name in the configuration, and the provider itself."""

    name: str
    provider: BuildingProvider
    max_chunk_chars: int | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """What the new generation would be stamped with; raises ReindexError while its length is unknown."""
        dims = self.provider.dimensions
        if dims is None:
            raise ReindexError(
                f"the embedder '{self.name}' does not declare the length of its vectors; set dimensions in its "
                "configuration (nothing is asked of it before you agree)"
            )
        return Fingerprint(self.provider.model_id, dims)

    @property
    def ceiling(self) -> ChunkCeiling:
        """How much of a chunk it reads."""
        return resolve_index_ceiling(self.max_chunk_chars, self.provider.max_input_chars, self.fingerprint)

    @property
    def entry(self) -> ModelEntry | None:
        """What the model table knows of it; a price counts only where texts leave the machine."""
        return model_table().known(self.fingerprint)

    def settings(self, namespace: str, *, resplit: bool) -> Settings:
        """Give what a build with it must not change."""
        ceiling, provider = self.ceiling, self.provider
        return Settings(
            namespace=namespace,
            embedder=self.name,
            fingerprint=fingerprint_text(self.fingerprint),
            max_chunk_chars=ceiling.chars,
            ceiling_source=ceiling.source,
            resplit=resplit,
            document_prefix=provider.policy.document,
            query_prefix=provider.policy.query,
            host=provider.host,
            tokenizer=None if provider.counter is None else provider.counter.name,
            max_input_tokens=None if provider.counter is None else provider.counter.max_tokens,
        )


def plan(index: str, namespace: str, target: Target, *, resplit: bool = False, job: Job | None = None) -> Plan:
    """Find what building a namespace with the target would do.

    Raises:
        ReindexError: there is no such namespace, or it has no texts.
        SourceError: the index cannot be read.
    """
    with attach(index) as attachment, attachment.cursor(job) as cursor:
        mapping = labelled(cursor, attachment.path, [living.find(cursor, namespace)])[0]
        return _planned(cursor, mapping, target, resplit)


def refuse_without_room(index: str, made: Plan) -> None:
    """Refuse a build for which there is no room beside the index; raises ReindexError."""
    folder = os.path.dirname(os.path.realpath(index))
    free = shutil.disk_usage(folder).free
    if free < made.disk_bytes:
        raise ReindexError(
            f"the build takes about {made.disk_bytes / 1e6:,.1f} MB beside the index, and {free / 1e6:,.1f} MB are "
            f"free in {folder}; nothing was sent: free some, or move the index to another disk"
        )


def _planned(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, target: Target, resplit: bool) -> Plan:
    living.refuse_resplit(mapping, resplit)
    table, text, chars = living.rows(mapping), "text", "char_count"
    ceiling = target.ceiling
    now = resolve_index_ceiling(None, mapping.max_input_chars, mapping.recorded)
    kept = keeps(cursor, mapping, target.settings(mapping.namespace, resplit=resplit))
    sent = f"{text} <> '' AND NOT coalesce({kept}, false)"
    row = first_row(
        cursor,
        f"SELECT count(*) FILTER ({text} IS NULL), count(*) FILTER ({text} = ''), count(*) FILTER ({sent}),"
        f" count(*) FILTER ({text} <> '' AND coalesce({kept}, false)),"
        f" count(*) FILTER ({text} <> '' AND {chars} > $then), count(*) FILTER ({chars} > $now),"
        f" coalesce(sum({chars}) FILTER ({sent}), 0), coalesce(sum(strlen({text})), 0) FROM {table}",
        {"then": ceiling.chars, "now": now.chars},
    )
    assert row is not None
    impossible, skip, texts, reuse, longer, clipped_now, all_chars, all_bytes = (int(each) for each in row)
    cut = _Cut()
    if resplit:
        cut = _cut_up(cursor, f"SELECT {text} FROM {table} WHERE {sent}", ceiling.chars, target.provider.counter)
    pieces, sent_chars = texts - cut.texts + cut.pieces, all_chars + cut.added
    sample = _sample(cursor, table, text, sent)
    provider, vector_bytes = target.provider, 4 * int(target.fingerprint.dims)
    limit = None if provider.counter is None else provider.counter.max_tokens
    estimate = estimate_tokens(sample, pieces, sent_chars, provider.counter, limit)
    again = sample or _sample(cursor, table, text, f"{text} <> ''")
    probing = min(PROBE_TEXTS, pieces + reuse)
    usual = round(sum(map(utf16_length, again)) / max(1, len(again)))
    lost = min(MOST, clipped_now)
    asked = usual * probing + MOST_SENT * lost
    probes = estimate_tokens(again, probing + lost, asked, None, limit).tokens
    tokens = Range(
        estimate.tokens.low,
        estimate.tokens.likely + probes.likely,
        estimate.tokens.high + max(probes.high, PROBE_TEXTS),
    )
    conflict = conflict_in(provider)
    ids = cursor.execute(f"SELECT id FROM {table} WHERE {text} IS NULL ORDER BY seq LIMIT {_LISTED}").fetchall()
    return Plan(
        namespace=mapping.namespace,
        origin=None if mapping.recorded is None else fingerprint_text(mapping.recorded),
        target=fingerprint_text(target.fingerprint),
        ceiling=ceiling,
        clipped_now=clipped_now,
        clipped_then=0 if resplit else longer,
        chunks=FateCounts(
            reuse=reuse,
            embed=texts - cut.texts,
            resplit=cut.texts,
            skip=skip,
            impossible=impossible,
        ),
        pieces=pieces,
        chars=sent_chars,
        tokens=tokens,
        tokens_basis=estimate.basis,
        probe_tokens=round(probes.likely),
        cost=cost_of(tokens, target.entry if provider.host is not None else None),
        seconds=seconds_for(target.name, fingerprint_text(target.fingerprint), sent_chars),
        disk_bytes=all_bytes + (texts + skip + impossible) * _ROW_BYTES + (pieces + reuse) * vector_bytes,
        impossible_ids=tuple(id for (id,) in ids),
        conflict=None if conflict is None else conflict.message,
    )


def _sample(cursor: duckdb.DuckDBPyConnection, table: str, text: str, which: str) -> list[str]:
    """Give some texts, the same ones each time."""
    rows = cursor.execute(
        f"SELECT {text} FROM {table} WHERE {which} USING SAMPLE reservoir({SAMPLE} ROWS) REPEATABLE (7)"
    ).fetchall()
    return [value for (value,) in rows]


@dataclass(frozen=True, slots=True)
class _Cut:
    """Texts that are cut, their pieces, and how many code units more are sent since pieces overlap."""

    texts: int = 0
    pieces: int = 0
    added: int = 0


def _cut_up(cursor: duckdb.DuckDBPyConnection, sent: str, most: int, counter: TokenCounter | None) -> _Cut:
    """Cut the long texts as the build will."""
    cursor.execute(f"{sent} AND {may_be_long(counter)}", {"most": most})
    whole = fits(counter)
    texts = pieces = added = 0
    while rows := cursor.fetchmany(256):
        for (value,) in rows:
            parts = split(value, most, whole)
            if len(parts) > 1:
                texts += 1
                pieces += len(parts)
                added += sum(part.end - part.start for part in parts) - parts[-1].end
    return _Cut(texts, pieces, added)

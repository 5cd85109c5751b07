"""The columns of one mapped table as SQL expressions, so that every measurement reads them in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.index.mapping import ModelColumn, TableMapping
from workbench.index.sql import qualified, quoted, utf16_length

MISSING = -1.0
"""What ``n`` is for a NULL or empty vector; NaN stands for a non-finite one."""

MAX_MODEL_CHARS = 1_000
"""How much is read of what a row names as its embedder."""

ROW = "rowid"
"""DuckDB's own row number: what scans are cut by, and the identity of a row while a file is attached."""


@dataclass(frozen=True, slots=True)
class Expressions:
    """SQL expressions over a mapping's table, made of quoted names and of numbers of our own only."""

    mapping: TableMapping

    @property
    def table(self) -> str:
        """The table, fully qualified."""
        return qualified(self.mapping.schema, self.mapping.table)

    @property
    def order(self) -> str:
        """The paging key."""
        return quoted(self.mapping.order)

    @property
    def id(self) -> str:
        """The id as text, never NULL: a row without an id goes by its row number."""
        if self.mapping.id is None:
            return f"{ROW}::VARCHAR"
        return f"coalesce({quoted(self.mapping.id)}::VARCHAR, 'rowid=' || {ROW})"

    @property
    def text(self) -> str:
        """The chunk's text, NULL where the table holds none."""
        return self.optional(self.mapping.text)

    @property
    def chars(self) -> str:
        """The length of the text in UTF-16 code units, from the text itself; NULL where there is none."""
        return utf16_length(self.text) if self.mapping.text is not None else "NULL::BIGINT"

    @property
    def model(self) -> str:
        """What the row names as its embedder, as text."""
        return f"left({self.optional(self.mapping.model)}, {MAX_MODEL_CHARS})"

    @property
    def model_id(self) -> str:
        """The id of the embedder that the row names; NULL when it names none."""
        named = self.model
        if self.mapping.model_kind is ModelColumn.FINGERPRINT:
            named = f"regexp_extract({named}, '(?s)^(.*)@', 1)"
        return f"nullif(nullif({named}, ''), '?')"

    def optional(self, column: str | None) -> str:
        """Return a column as text, NULL where the mapping has none."""
        return f"{quoted(column)}::VARCHAR" if column is not None else "NULL::VARCHAR"

    def expired(self, now_ms: int) -> str:
        """Whether the row's time to live is over."""
        if self.mapping.expires_ms is None:
            return "false"
        return f"coalesce(TRY_CAST({quoted(self.mapping.expires_ms)} AS DOUBLE) <= {int(now_ms)}, false)"

    @property
    def vector(self) -> str:
        """The vector column; only where the mapping has one."""
        assert self.mapping.vector is not None
        return quoted(self.mapping.vector)

    @property
    def length(self) -> str:
        """The vector's length; 0 for a NULL or empty one."""
        if self.mapping.vector is None:
            return "0"
        if self.mapping.fixed_dims is not None:
            return f"(CASE WHEN {self.vector} IS NULL THEN 0 ELSE {self.mapping.fixed_dims} END)"
        return f"coalesce(len({self.vector}), 0)"

    @property
    def single(self) -> bool:
        """Whether inner products run in float32, and so overflow and vanish early."""
        return self.mapping.element_type == "FLOAT"

    @property
    def number(self) -> str:
        """The element type of inner products."""
        return "FLOAT" if self.single else "DOUBLE"

    @property
    def plain(self) -> str:
        """Whether an inner product ``p`` of a vector with itself can be believed as it is."""
        low, high = ("1e-28", "3e38") if self.single else ("1e-280", "1e300")
        return f"(p > {low} AND p < {high})"

    @property
    def rough(self) -> str:
        """The same of the norm ``n``."""
        low, high = ("1e-14", "1.7e19") if self.single else ("1e-140", "1e150")
        return f"(n > {low} AND n < {high})"

    def operand(self, vector: str) -> str:
        """Return ``vector`` as an inner product takes it: arrays of integers are refused, lists of them are slow."""
        dims = self.mapping.fixed_dims
        if self.mapping.element_type in ("FLOAT", "DOUBLE"):
            return vector
        return f"{vector}::DOUBLE[{'' if dims is None else dims}]"

    def norms(self, columns: Mapping[str, str], where: str, *, careful: bool) -> str:
        """Return a query giving ``v`` (the vector), ``n`` (its L2 norm), ``p`` and ``columns`` by alias.

        ``n`` is MISSING for a NULL or empty vector and NaN for one that is not finite. It comes from the inner product
        ``p``; only where that answers NULL, 0, NaN or infinity, or comes near either end of its range, the elements
        are looked at one by one in double precision: in float32 ``[3e30, 1]`` overflows and ``[1e-30, 0]`` vanishes,
        although both are usable.

        With ``careful`` every row of a list column is looked at one by one. That is needed where an element is NULL:
        the inner product of lists then fails for a whole block, that of arrays for the one row only.
        """
        names = "".join(f", {alias}" for alias in columns)
        read = "".join(f", {expression} AS {alias}" for alias, expression in columns.items())
        square, root = self._one_by_one()
        return (
            f"SELECT v, p{names}, CASE WHEN {self.plain} THEN sqrt(p::DOUBLE)"
            f" WHEN v IS NULL OR len(v) = 0 THEN {MISSING} WHEN s = 0 THEN 0"
            f" WHEN s IS NULL OR NOT isfinite(s) THEN 'nan'::DOUBLE ELSE {root} END AS n"
            f" FROM (SELECT v, p{names}, CASE WHEN {self.plain} OR v IS NULL OR list_position(v, NULL) IS NOT NULL"
            f" THEN NULL ELSE {square} END AS s"
            f" FROM (SELECT {self.vector} AS v, {self._self_product(careful)} AS p{read}"
            f" FROM {self.table} WHERE {where}))"
        )

    def _self_product(self, careful: bool) -> str:
        operand = self.operand(self.vector)
        if self.mapping.fixed_dims is not None:
            return f"TRY(array_inner_product({operand}, {operand}))"
        return "NULL::DOUBLE" if careful else f"list_inner_product({operand}, {operand})"

    def _one_by_one(self) -> tuple[str, str]:
        """Return an aggregate ``s`` over the elements of ``v``, and the norm made of it."""
        if self.mapping.element_type != "DOUBLE":
            return "list_sum(list_transform(v, lambda x: x::DOUBLE * x::DOUBLE))", "sqrt(s)"
        # Squares of doubles can overflow too: the largest element is divided out first.
        return (
            "list_max(list_transform(v, lambda x: abs(x)))",
            "s * sqrt(list_sum(list_transform(v, lambda x: (x / s) * (x / s))))",
        )

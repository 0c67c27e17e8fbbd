"""Mutants that no test can detect, with the reasons.

A mutant is identified by the text of its line, so that the reason stays valid if the line moves.
"""

from __future__ import annotations

AT_A_TIME = "the size of the blocks does not change the result"
FORM = "both forms give the same sums and differ only in speed"
GRID = (
    "on a grid with half or twice the step, exact ties are still ties, and other values are still "
    "far apart"
)
OTHERS = (
    "summing the weights of the other samples is always correct, and gives 0 if there are none; a "
    "difference is only faster"
)

# End of the file's path, part of the line, part of the change or of the changed statement, and the
# reason why the result is the same.
EXPLAINED: list[tuple[str, str, str, str]] = [
    ("sums.py", "parts = np.array_split(", "4 * int(n_pairs) * TEMPORARY", AT_A_TIME),
    ("sums.py", "parts = np.array_split(", "5 * int(n_pairs) //", AT_A_TIME),
    ("sums.py", "(stored_mass > total / 2)", "stored_mass >= total / 2", OTHERS),
    ("sums.py", "(stored_mass > total / 2)", "stored_mass > total / 3", OTHERS),
    ("sums.py", "(stored_mass > total / 2)", "~full | ", OTHERS),
    (
        "sums.py",
        "share = np.divide(found.mass, total",
        "out=np.ones(len(total))",
        "if all groups have zero mass, their means are all zero",
    ),
    ("graph.py", "if block.is_sparse or block.width <= width:", "block.is_sparse and", AT_A_TIME),
    ("graph.py", "if block.is_sparse or block.width <= width:", "block.width < width", AT_A_TIME),
    (
        "graph.py",
        "return cls(weights.shape[0], upper.row",
        "weights.shape[1]",
        "the matrix is square",
    ),
    ("blocks.py", "return UnreadBlock(start", "return None", FORM),
    (
        "columns.py",
        "-float(low.min(initial=0)))",
        "low.min(initial=1)",
        "the smallest number matters only if it is negative",
    ),
    (
        "columns.py",
        "if not readable(matrix):",
        "not readable(matrix) → readable(matrix)",
        "both detect values that are not finite",
    ),
    ("columns.py", "> DENSE_FROM and size <=", ">= DENSE_FROM", FORM),
    (
        "columns.py",
        "size = part.shape[0] * part.shape[1]",
        "part.shape[0] / part.shape[1]",
        "several columns have a sixteenth of the maximum entries of a block; at this density, they "
        "are always small enough",
    ),
    (
        "blocks.py",
        "half = exponents // 2",
        "exponents // 3",
        "both steps are exact, wherever the exponent is divided",
    ),
    ("blocks.py", "np.abs(exponent).max() <= LARGEST_EXPONENT", "< LARGEST_EXPONENT", FORM),
    ("blocks.py", "np.abs(exponent).max() > LARGEST_EXPONENT", ">= LARGEST_EXPONENT", FORM),
    ("sums.py", "parts = np.array_split(", "max(1, max(", AT_A_TIME),
    ("sums.py", "parts = np.array_split(", "min(weightings.shape[0],", AT_A_TIME),
    ("builders.py", "keep = count_same_code_pairs(codes) <= EDGES_KEPT", "< EDGES_KEPT", FORM),
    (
        "builders.py",
        "in_threads(work, range(len(parts[0])), available_threads())",
        "len(parts[1])",
        "both lists have the same number of parts",
    ),
    (
        "geometry.py",
        "total = np.zeros(block.width)",
        "np.ones",
        "the parts cover the whole block, so every entry is overwritten",
    ),
    (
        "labels.py",
        "values = per_column(table, value, wide=",
        "wide=isinstance(table",
        AT_A_TIME,
    ),
    (
        "labels.py",
        "step = max(1, CACHED_ELEMENTS // block.width)",
        "CACHED_ELEMENTS * block.width",
        AT_A_TIME,
    ),
    (
        "column_sums.py",
        "if n_places <= FEW_PLACES or (len(used) == 1",
        "n_places < FEW_PLACES",
        FORM,
    ),
    ("column_sums.py", "if n_places <= FEW_PLACES or (len(used) == 1", "3 * weightings.nnz", FORM),
    (
        "column_sums.py",
        "if self.scale is None or self.shift is None:",
        " and ",
        "both are given, or none",
    ),
    (
        "column_sums.py",
        "step = max(1, min(len(first), CACHED_ELEMENTS // max(1, rows.shape[1])))",
        "rows.shape[0]",
        AT_A_TIME,
    ),
    ("builders.py", "if abs(exponent) <= LARGEST_EXPONENT:", "< LARGEST_EXPONENT", FORM),
    (
        "builders.py",
        "if samples is not None and n_samples is not None:",
        " or ",
        "both are given, or none",
    ),
    ("builders.py", "if len(squared) < MANY_EDGES:", "<= MANY_EDGES", FORM),
    ("geometry.py", "linked = int((self.degree > 0).sum())", "self.degree >= 0", FORM),
    ("geometry.py", "if truncated and n_components is not None", "truncated or ", FORM),
    ("geometry.py", "if self.power == 1:", "self.power == 0", FORM),
    ("labels.py", "np.ldexp(DISTANCE_GRID, (table.n_columns - 1)", "table.n_features + 1", GRID),
    ("labels.py", "np.ldexp(DISTANCE_GRID, (table.n_columns - 1)", "table.n_features - 0", GRID),
    (
        "labels.py",
        "size = np.where(block.range > 0, block.range, 1.0)",
        ">= 0",
        "a constant column has no entries to divide",
    ),
    (
        "labels.py",
        "size = np.where(block.range > 0, block.range, 1.0)",
        "block.range, 0)",
        "a constant column has no entries to divide",
    ),
    (
        "column_sums.py",
        "step = max(1, min(len(first), CACHED_ELEMENTS",
        "max(len(first)",
        AT_A_TIME,
    ),
    ("column_sums.py", "if rows.size >= SHARED_FROM else 1", "rows.size > SHARED_FROM", FORM),
    ("column_sums.py", "if n_threads == 1:", "n_threads == 0", FORM),
    (
        "column_sums.py",
        "or rows.shape[1] == 1)",
        "rows.shape[0] == 1",
        "a table has at least two rows",
    ),
    ("column_sums.py", "or rows.shape[1] == 1)", "rows.shape[1] == 0", FORM),
    ("column_sums.py", "if min(n_threads, len(jobs)) == 1:", "max(n_threads", FORM),
    (
        "column_sums.py",
        "for later in found[1:, 2]:",
        "found[0:, 2]",
        "the first is not closer to zero than itself",
    ),
    ("column_sums.py", "n_places = weightings.shape[0] * len(used)", "weightings.shape[1]", FORM),
    (
        "column_sums.py",
        "if n_places <= FEW_PLACES or (len(used) == 1",
        "len(used) == 1 or 2 * weightings.nnz",
        FORM,
    ),
    (
        "column_sums.py",
        "if n_places <= FEW_PLACES or (len(used) == 1",
        "weightings.nnz > n_places",
        FORM,
    ),
    ("column_sums.py", "if n_places <= FEW_PLACES or (len(used) == 1", "2 / weightings.nnz", FORM),
    (
        "builders.py",
        "rows[members], np.zeros(",
        "np.ones(",
        "any code works, if it is the same for all",
    ),
    (
        "builders.py",
        "step = max(1, EDGES_PER_CHUNK // len(members))",
        "EDGES_PER_CHUNK * len(members)",
        AT_A_TIME,
    ),
    (
        "builders.py",
        "exponent = (row_exponent + target_exponent) // 2",
        "// 3",
        "any unit works in which the squares of both are representable, which also holds at a third "
        "of their exponents",
    ),
    (
        "builders.py",
        "if high - low <= FARTHEST_APART:",
        "< FARTHEST_APART",
        "at exactly this difference, both branches leave them unchanged",
    ),
    (
        "builders.py",
        "return near if row_exponent < target_exponent",
        "<= target_exponent",
        "the two are far apart here and never equal",
    ),
    (
        "geometry.py",
        "self._apply(vector) - 2 * (kernel @ (kernel.T @ vector))",
        "- 3 * (kernel",
        "no other eigenvalue is below 0, so the kernel is separated at 0 as well as at -1",
    ),
    (
        "targets.py",
        "centered = centered - centered[0]",
        "centered[1]",
        "any element works, because the mean is subtracted next",
    ),
    (
        "column_sums.py",
        "if gather is None or gather.shape[1] != len(rows):",
        "gather.shape[0]",
        "creating the matrix again for each part gives the same matrix",
    ),
    ("column_sums.py", "if n_places <= FEW_PLACES or (len(used) == 1", "len(used) == 0", FORM),
    (
        "column_sums.py",
        "if self.begin is None or self.which is None:",
        " and ",
        "both are given, or none",
    ),
    ("column_sums.py", "if n_threads == 1:", "n_threads != 1", FORM),
    (
        "column_sums.py",
        "step = max(1, TEMPORARY_ELEMENTS // max(1, weightings.nnz))",
        "TEMPORARY_ELEMENTS * max",
        AT_A_TIME,
    ),
    ("column_sums.py", "if len(parts) == 1:", "len(parts) == 0", FORM),
    ("builders.py", "and near.shape[1] <= FEW_NEIGHBORS", "< FEW_NEIGHBORS", FORM),
    ("builders.py", "and near.shape[1] <= FEW_NEIGHBORS", "near.shape[0] <= FEW_NEIGHBORS", FORM),
    ("geometry.py", "n_components is not None and n_components < linked", "<= linked", FORM),
    (
        "geometry.py",
        "start = np.random.default_rng(0)",
        "default_rng(1)",
        "the iteration converges to the same result from any start",
    ),
    (
        "column_sums.py",
        "step = max(1, min(len(first), CACHED_ELEMENTS // max(1, rows.shape[1])))",
        "CACHED_ELEMENTS * max",
        AT_A_TIME,
    ),
    (
        "column_sums.py",
        "(by.first == by.first[0]).all()",
        "!= by.first[0]",
        "the origin is the same, stored once or for each weighting",
    ),
    (
        "column_sums.py",
        "n_threads = min(len(rows), available_threads())",
        "max(len(rows)",
        "the number of threads does not change the extremes",
    ),
    ("column_sums.py", "if n_places <= FEW_PLACES or (len(used) == 1", "len(used) != 1", FORM),
    (
        "column_sums.py",
        "if n_places <= FEW_PLACES or (len(used) == 1",
        "n_places <= FEW_PLACES and",
        FORM,
    ),
]


def explanation(file: str, line: str, change: str, result: str) -> str | None:
    """Return the reason why no test detects this mutant, if there is one."""
    for where, text, what, why in EXPLAINED:
        if file.endswith(where) and text in line and (what in change or what in result):
            return why
    return None

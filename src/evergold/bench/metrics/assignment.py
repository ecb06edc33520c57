"""Optimal matching of two lists: the pairs, one to one, with the greatest sum of weights.

A greedy match takes the best pair first and can leave a worse whole; with two calls of one tool that is the usual case.
"""

from collections.abc import Sequence

INFINITY = float("inf")


def best_pairs(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """(row, column) pairs that maximise the sum; every row or every column is used, whichever are fewer."""
    if not weights or not weights[0]:
        return []
    # The algorithm needs at least as many columns as rows.
    if len(weights) > len(weights[0]):
        turned = [list(column) for column in zip(*weights, strict=True)]
        return sorted((row, column) for column, row in best_pairs(turned))
    owner = _hungarian([[-weight for weight in row] for row in weights])
    return sorted((row, column) for column, row in owner.items())


def _hungarian(costs: list[list[float]]) -> dict[int, int]:
    """Shortest augmenting paths with potentials (Kuhn–Munkres), O(rows² · columns); column → row."""
    rows, columns = len(costs), len(costs[0])
    # Row and column 0 stand for "nobody": they spare the special case of an unmatched start.
    row_price, column_price = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        slack, came_from, seen = [INFINITY] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        at = 0
        while owner[at]:
            seen[at] = True
            current, step, next_column = owner[at], INFINITY, 0
            for column in range(1, columns + 1):
                if seen[column]:
                    continue
                reduced = costs[current - 1][column - 1] - row_price[current] - column_price[column]
                if reduced < slack[column]:
                    slack[column], came_from[column] = reduced, at
                if slack[column] < step:
                    step, next_column = slack[column], column
            for column in range(columns + 1):
                if seen[column]:
                    row_price[owner[column]] += step
                    column_price[column] -= step
                else:
                    slack[column] -= step
            at = next_column
        while at:
            owner[at] = owner[came_from[at]]
            at = came_from[at]
    return {column - 1: owner[column] - 1 for column in range(1, columns + 1) if owner[column]}

"""Where the queries of a matrix [q, k] stand among its keys, as its numbers tell it."""

import torch
from torch import Tensor


def relative_in(q: int, k: int, first_query: int | None = None) -> Tensor:
    """Key - query, [q, k]; if it is not told where the first query is, the last is the last key.

    With more queries than keys, the first of them is the first key.
    """
    first = max(k - q, 0) if first_query is None else first_query
    return torch.arange(k) - torch.arange(first, first + q)[:, None]


def require_first_query(first_query: int | None, q: int, k: int) -> None:
    """Refuse a first query after which not all others have a key.

    Raises:
        ValueError: if it is not within 0 ... k - q.
    """
    if first_query is not None and not 0 <= first_query <= max(k - q, 0):
        raise ValueError(
            f"first_query must be within 0 ... {max(k - q, 0)} for {q} queries and {k} keys, "
            f"got {first_query}"
        )


def spots(first: int, q: int) -> str:
    """The positions of so many queries, in words."""
    return str(first) if q == 1 else f"{first} to {first + q - 1}"


def elsewhere(first: int, q: int, k: int) -> str:
    """What is undecided of a matrix that is right if its queries begin at `first`, not at the end.

    Whoever knows where they are can tell; the matrix cannot.
    """
    end = max(k - q, 0)
    return (
        f"where queries stand: this is right for queries at {spots(first, q)} of {k} keys, and "
        f"wrong for the last ones, {spots(end, q)}, as of a decode step, whose position is left "
        f"out then or miscounted; first_query={first} or first_query={end} tells which they are"
    )


def misplaced(first: int, told: int, q: int) -> tuple[str, str]:
    """The mistake of a matrix that is right for queries elsewhere than it was told: name, hint."""
    return (
        f"queries at {spots(first, q)}, not {spots(told, q)}",
        f"it is right for queries that begin at position {first}; these begin at {told}: look at "
        "how the length of the cache is added",
    )

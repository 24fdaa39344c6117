"""A reader without a model: it counts strings in the training text. A yardstick for text."""

import math
from collections import Counter
from collections.abc import Sequence

from posenc.lab import corpus


def counted_losses(
    train: str, held_out: str, ends: Sequence[int], longest: int
) -> list[list[float]]:
    """Score readers who know how often each string of their length occurs in the training text.

    The reader of k characters mixes what followed the last k with what the reader of k - 1 says:

        p_k(c) = (count_k(c) + kinds_k p_{k-1}(c)) / (total_k + kinds_k)

    count_k(c): how often c followed these k characters, total_k: the sum over all c, kinds_k: how
    many different ones followed. p_{-1} is the same for all characters. If the k characters never
    occurred, p_k = p_{k-1}.

    Args:
        train: what is counted.
        held_out: what is scored.
        ends: of the strings whose last character is scored; all above longest.
        longest: how many characters the last reader looks back, not negative.

    Returns:
        For the readers of 0, 1, ... longest characters: nats for each end.

    Raises:
        ValueError: if an end is not within the held-out text, or too near to its start.

    Paper: Witten and Bell (1991), The zero-frequency problem, method C.
    """
    if not all(longest < end <= len(held_out) for end in ends):
        raise ValueError(f"ends must be from {longest + 1} to {len(held_out)}, got {ends}")
    followers = {
        held_out[end - 1 - back : end - 1]: Counter() for end in ends for back in range(longest + 1)
    }
    for back in range(longest + 1):
        for at in range(back, len(train)):
            if (found := followers.get(train[at - back : at])) is not None:
                found[train[at]] += 1
    nats = [[] for _ in range(longest + 1)]
    for end in ends:
        share = 1 / (corpus.UNKNOWN + 1)
        for back in range(longest + 1):
            found = followers[held_out[end - 1 - back : end - 1]]
            if kinds := len(found):
                share = (found[held_out[end - 1]] + kinds * share) / (found.total() + kinds)
            nats[back].append(-math.log(share))
    return nats

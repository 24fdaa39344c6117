import math
from fractions import Fraction

import numpy as np
import torch

from posenc import relative_positions, skew
from tests.answers import Answers


def differences_in_lists(query_positions, key_positions):
    return [[k - q for k in key_positions.tolist()] for q in query_positions.tolist()]


def differences_numpy(query_positions, key_positions):
    return np.subtract.outer(key_positions.numpy(), query_positions.numpy()).T


def differences_meshgrid(query_positions, key_positions):
    q, k = torch.meshgrid(query_positions.float(), key_positions.float(), indexing="ij")
    return k - q


def differences_by_products(query_positions, key_positions):
    columns = torch.stack((-query_positions, torch.ones_like(query_positions)), dim=1)
    return columns @ torch.stack((torch.ones_like(key_positions), key_positions))


def distance_back(query_positions, key_positions):
    return query_positions[:, None] - key_positions[None, :]


def keys_by_queries(query_positions, key_positions):
    return key_positions[:, None] - query_positions[None, :]


def axes_confused(query_positions, key_positions):
    return query_positions[None, :] - key_positions[:, None]


def unsigned(query_positions, key_positions):
    return (query_positions[:, None] - key_positions).abs()


def own_counting(query_positions, key_positions):
    return [[j - i for j, _ in enumerate(key_positions)] for i, _ in enumerate(query_positions)]


def queries_at_the_end(query_positions, key_positions):
    n, m = len(query_positions), len(key_positions)
    return torch.arange(m) - torch.arange(m - n, m)[:, None]


def counted_on_from_the_first(query_positions, key_positions):
    q = query_positions[0] + torch.arange(len(query_positions))
    k = key_positions[0] + torch.arange(len(key_positions))
    return k[None, :] - q[:, None]


def not_broadcast(query_positions, key_positions):
    return key_positions - query_positions


def from_one(query_positions, key_positions):
    return key_positions[None, :] - query_positions[:, None] + 1


def only_back(query_positions, key_positions):
    return torch.minimum(key_positions - query_positions[:, None], torch.zeros(()))


def buckets_in_a_loop(relative, num_buckets, max_distance):
    result = []
    for r in relative.tolist():
        half = num_buckets // 2
        near, n = half // 2, abs(r)
        if n >= near:
            position = math.log(n / near) / math.log(max_distance / near)
            n = min(near + int(position * (half - near)), half - 1)
        result.append(n + half if r > 0 else n)
    return result


def buckets_numpy(relative, num_buckets, max_distance):
    r = relative.numpy()
    half, near = num_buckets // 2, num_buckets // 4
    octaves = np.log2(np.maximum(np.abs(r), near) / near)
    far = near + np.floor((half - near) * octaves / np.log2(max_distance / near))
    far = np.minimum(far, half - 1)
    return np.where(np.abs(r) < near, np.abs(r), far) + half * (r > 0)


def buckets_exactly(relative, num_buckets, max_distance):
    half, near = num_buckets // 2, num_buckets // 4
    ratio = Fraction(max_distance, near)
    result = []
    for r in relative.tolist():
        n = bucket = abs(r)
        if n >= near:
            reached = [
                Fraction(n, near) ** (half - near) >= ratio**t for t in range(1, half - near)
            ]
            bucket = near + sum(reached)
        result.append(bucket + half * (r > 0))
    return result


def buckets_by_search(relative, num_buckets, max_distance):
    half, near = num_buckets // 2, num_buckets // 4
    shared = np.geomspace(near, max_distance, half - near + 1)[:-1]
    begins = torch.cat((torch.arange(near).double(), torch.from_numpy(shared)))
    begins[near] = near
    distance = relative.abs().double()
    return torch.searchsorted(begins, distance, right=True) - 1 + half * (relative > 0)


def bucket_of(n, near, half, far):
    return n if n < near else min(half - 1, near + far(n))


def buckets_by(far):
    """The buckets, with `far(n, near, half, max_distance)` for the shared ones."""

    def answer(relative, num_buckets, max_distance):
        half = num_buckets // 2
        near = half // 2
        rows = [
            bucket_of(abs(r), near, half, lambda n: far(n, near, half, max_distance))
            for r in relative.tolist()
        ]
        return [row + half * (r > 0) for row, r in zip(rows, relative.tolist(), strict=True)]

    return answer


def growth(n, near, half, max_distance):
    return (half - near) * math.log(n / near) / math.log(max_distance / near)


def ln_alone(n, near, half, max_distance):
    return int(math.log(n / near))


def nearest(n, near, half, max_distance):
    return round(growth(n, near, half, max_distance))


def upwards(n, near, half, max_distance):
    return math.ceil(growth(n, near, half, max_distance))


def linear(n, near, half, max_distance):
    return (n - near) * (half - near) // (max_distance - near)


def without_count(n, near, half, max_distance):
    return int(math.log(n / near) / math.log(max_distance / near))


def near_forgotten(n, near, half, max_distance):
    return int((half - near) * math.log(n) / math.log(max_distance))


def last_is_separate(n, near, half, max_distance):
    if n >= max_distance:
        return half - 1 - near
    return int((half - 1 - near) * math.log(n / near) / math.log(max_distance / near))


def factor_by_division(n, near, half, max_distance):
    factor, begin, step = max_distance / near / (half - near), near, 0
    while n >= begin * factor and step < half:
        begin, step = begin * factor, step + 1
    return step


def whole_beginnings(n, near, half, max_distance):
    factor = (max_distance / near) ** (1 / (half - near))
    return sum(n >= int(near * factor**step) for step in range(1, half - near))


def last_exact_lost(relative, num_buckets, max_distance):
    half, near = num_buckets // 2, num_buckets // 4
    far = [
        int(growth(max(abs(r), 1), near, half, max_distance)) if r else 0 for r in relative.tolist()
    ]
    far = (torch.tensor(far) + near).clamp(max=half - 1)
    exact = relative.abs() < near - 1
    return torch.where(exact, relative.abs(), far) + half * (relative > 0)


def outwards_from_the_left(relative, num_buckets, max_distance):
    half = num_buckets // 2
    near_to_far = torch.tensor(buckets_in_a_loop(-relative.abs(), num_buckets, max_distance))
    return torch.where(relative > 0, half + near_to_far, half - 1 - near_to_far)


def decoder(relative, num_buckets, max_distance):
    near = num_buckets // 2
    result = []
    for r in relative.tolist():
        n = max(-r, 0)
        result.append(
            bucket_of(
                n, near, num_buckets, lambda n: int(growth(n, near, num_buckets, max_distance))
            )
        )
    return result


def other_side(relative, num_buckets, max_distance):
    one_side = buckets_in_a_loop(-relative.abs(), num_buckets, max_distance)
    return torch.tensor(one_side) + num_buckets // 2 * (relative < 0)


def at_least_zero(relative, num_buckets, max_distance):
    one_side = buckets_in_a_loop(-relative.abs(), num_buckets, max_distance)
    return torch.tensor(one_side) + num_buckets // 2 * (relative >= 0)


def twice_as_many(relative, num_buckets, max_distance):
    return buckets_in_a_loop(relative, 2 * num_buckets, max_distance)


def no_empty_bucket(relative, num_buckets, max_distance):
    moved = torch.where(relative > 0, relative - 1, relative)
    one_side = buckets_in_a_loop(-moved.abs(), num_buckets, max_distance)
    return torch.tensor(one_side) + num_buckets // 2 * (relative > 0)


def like_shaw(relative, num_buckets, max_distance):
    last = num_buckets // 2 - 1
    return relative.abs().clamp(0, last) + (relative > 0) * (last + 1)


def left_one_low_on_the_right(relative, num_buckets, max_distance):
    one_side = torch.tensor(buckets_in_a_loop(-relative.abs(), num_buckets, max_distance))
    return torch.where(relative > 0, num_buckets // 2 - 1 + one_side, one_side)


def positive_first(relative, num_buckets, max_distance):
    one_side = torch.tensor(buckets_in_a_loop(-relative.abs(), num_buckets, max_distance))
    return torch.where(relative > 0, one_side, one_side + num_buckets // 2)


def no_floor(relative, num_buckets, max_distance):
    half, near = num_buckets // 2, num_buckets // 4
    n = relative.abs().clamp(min=near)
    far = near + torch.log(n / near) / math.log(max_distance / near) * (half - near)
    one_side = torch.where(relative.abs() < near, relative.abs(), far.clamp(max=half - 1))
    return one_side + half * (relative > 0)


def beginnings(relative, num_buckets, near, factor):
    """Count the beginnings `near * factor**k` that each distance has reached."""
    half = num_buckets // 2
    result = []
    for r in relative.tolist():
        n, begin, bucket = abs(r), near * factor, near
        while n >= begin and bucket < half - 1:
            begin, bucket = begin * factor, bucket + 1
        result.append((n if n < near else bucket) + (half if r > 0 else 0))
    return result


def buckets_by_steps(relative, num_buckets, max_distance):
    near = num_buckets // 4
    return beginnings(relative, num_buckets, near, (max_distance / near) ** (1 / near))


def factor_from_one(relative, num_buckets, max_distance):
    near = num_buckets // 4
    return beginnings(relative, num_buckets, near, max_distance ** (1 / near))


def exact_up_to_near(relative, num_buckets, max_distance):
    half, near = num_buckets // 2, num_buckets // 4
    result = []
    for r in relative.tolist():
        n = abs(r)
        if n > near:
            steps = math.log(n / near) / math.log(max_distance / near) * (half - near - 1)
            n = min(near + 1 + int(steps), half - 1)
        result.append(n + half if r > 0 else n)
    return result


def without_an_end(relative, num_buckets, max_distance):
    half, near = num_buckets // 2, num_buckets // 4
    n = relative.abs()
    far = near + torch.log(n / near) / math.log(max_distance / near) * (half - near)
    return torch.where(n < near, n, far.long()) + half * (relative > 0)


def usual_settings(relative, num_buckets, max_distance):
    return buckets_in_a_loop(relative, 32, 128)


def skewed_by_entry(products):
    n = len(products)
    return [[products[i, j - i + n - 1].item() for j in range(n)] for i in range(n)]


def skewed_by_row(products):
    n = len(products)
    return torch.stack([row[n - 1 - i : 2 * n - 1 - i] for i, row in enumerate(products)])


def skewed_gather(products):
    p = torch.arange(len(products))
    return products.gather(1, p - p[:, None] + len(p) - 1)


def skewed_stride(products):
    n = len(products)
    whole = products.reshape(-1).clone()
    return whole.as_strided((n, n), (2 * n - 2, 1), n - 1)


def skewed_numpy(products):
    n = len(products)
    rolled = [np.roll(row, i + 1 - n) for i, row in enumerate(products.double().numpy())]
    return np.array(rolled)[:, :n]


def skewed_masks(products):
    n = len(products)
    i, r, j = torch.meshgrid(*(torch.arange(m) for m in (n, 2 * n - 1, n)), indexing="ij")
    return torch.einsum("ir,irj->ij", products.double(), (r == j - i + n - 1).double())


def start_of_rows(products):
    return products[:, : products.shape[0]]


def same_window(products):
    n = products.shape[0]
    return [row[n - 1 :] for row in products]


def query_minus_key(products):
    p = torch.arange(len(products))
    return products.gather(1, p[:, None] - p + len(p) - 1)


def moving_right(products):
    n = len(products)
    return torch.stack([products[i, i : i + n] for i in range(n)])


def start_at_n(products):
    n = len(products)
    return torch.stack([torch.roll(products[i], i - n)[:n] for i in range(n)])


def negative_start(products):
    i = torch.arange(len(products))
    return products[i[:, None], i - i[:, None] + len(i) - 2]


def columns_of_keys(products):
    return skewed_by_row(products).T


def pad_and_stop(products):
    n, r = products.shape
    padded = torch.nn.functional.pad(products, (1, 0)).reshape(r + 1, n)
    return padded[1:].reshape(n, r)


def bare_stride(products):
    n, r = products.shape
    return torch.as_strided(products, (n, n), (r - 1, 1), n - 1)


def zero_on_the_right(products):
    n, r = products.shape
    padded = torch.cat((products, products.new_zeros(n, 1)), dim=1).flatten()
    return padded[n:].reshape(n, r)[:, :n]


def flat_from_the_middle(products):
    """Read memory from row 0's first key to the last row's last one: an end of -0 is none."""
    n = len(products)
    flat = products.reshape(-1)[n - 1 : -(n - 1)]
    return torch.stack([flat[i * (2 * n - 2) :][:n] for i in range(n)])


def first_query_only(products):
    n = len(products)
    return [products[0, n - 1 - i : 2 * n - 1 - i] for i in range(n)]


def row_of_key(products):
    n = len(products)
    return [[products[j, n - 1 + j - i] for j in range(n)] for i in range(n)]


def shaw_in_loops(q, k, table, query_positions, key_positions):
    clip = (len(table) - 1) // 2
    scores = torch.zeros(len(q), len(k))
    for i, at in enumerate(query_positions.tolist()):
        for j, there in enumerate(key_positions.tolist()):
            row = max(-clip, min(clip, there - at)) + clip
            scores[i, j] = q[i] @ (k[j] + table[row]) / math.sqrt(q.shape[1])
    return scores


def shaw_numpy(q, k, table, query_positions, key_positions):
    q, k, table = (x.double().numpy() for x in (q, k, table))
    last = len(table) - 1
    relative = key_positions.numpy()[None] - query_positions.numpy()[:, None]
    rows = np.clip(relative + last // 2, 0, last)
    return np.einsum("id,ijd->ij", q, k[None] + table[rows]) / np.sqrt(q.shape[1])


def shaw_by_products(q, k, table, query_positions, key_positions):
    clip = len(table) // 2
    relative = relative_positions(query_positions, key_positions)
    by_row = (q @ table.T).gather(1, relative.clamp(-clip, clip) + clip)
    return (q @ k.T + by_row) * q.shape[-1] ** -0.5


def shaw_skewed(q, k, table, query_positions, key_positions):
    clip = len(table) // 2
    low, high = key_positions[0] - query_positions[-1], key_positions[-1] - query_positions[0]
    rows = torch.arange(int(low), int(high) + 1).clamp(-clip, clip) + clip
    return (q @ k.T + skew(q @ table[rows].T)) / q.shape[-1] ** 0.5


def shaw_with(row_of, finish):
    """The code of the exercise with another row, and another way to put its parts together."""

    def answer(q, k, table, query_positions, key_positions):
        clip = len(table) // 2
        away = key_positions[None, :] - query_positions[:, None]
        position = (q[:, None, :] * table[row_of(away, clip)]).sum(-1)
        return finish(q @ k.T, position, q.shape[1])

    return answer


def right_row(away, clip):
    return away.clamp(min=-clip, max=clip) + clip


def late_row(away, clip):
    return (away + clip).clamp(-clip, clip)


def flipped_row(away, clip):
    return clip - away.clamp(-clip, clip)


def unshifted_row(away, clip):
    return away.clamp(-clip, clip)


def low_row(away, clip):
    return torch.clamp(away + clip, 0, clip)


def wrapped_row(away, clip):
    return torch.minimum(away + clip, torch.tensor(2 * clip)).clamp(min=-clip)


def short_row(away, clip):
    return (away + clip).clamp(min=0, max=2 * clip - 1)


def unsigned_row(away, clip):
    return away.abs().clamp(max=clip) + clip


def right_size(word, position, d):
    return (word + position) / d**0.5


def half_divided(word, position, d):
    return word / d**0.5 + position


def twice_divided(word, position, d):
    return (word / d**0.5 + position) / d**0.5


def wrong_half_divided(word, position, d):
    return word + position / d**0.5


def undivided(word, position, d):
    return word + position


def divided_by_d(word, position, d):
    return (word + position) / d


def buckets_of_whole_ratios(relative, num_buckets, max_distance):
    side, near = num_buckets // 2, num_buckets // 4
    found = []
    for r in relative.tolist():
        n = abs(r)
        if n >= near:
            part = math.log(n / near) / math.log(max_distance // near)
            n = min(near + int(part * (side - near)), side - 1)
        found.append(n + side * (r > 0))
    return found


ANSWERS = {
    "relative": Answers(
        [
            differences_in_lists,
            differences_numpy,
            differences_meshgrid,
            differences_by_products,
        ],
        [
            (distance_back, "Every sign is wrong"),
            (keys_by_queries, "rows and columns are exchanged"),
            (axes_confused, "which is subtracted"),
            (unsigned, "became of the sign"),
            (own_counting, "where they stand in their tensors"),
            (queries_at_the_end, "queries stand at their end"),
            (counted_on_from_the_first, "first of each tensor"),
            (not_broadcast, "which axis has the queries"),
            (from_one, "too large by 1"),
            (only_back, "No causal mask"),
        ],
    ),
    "buckets": Answers(
        [buckets_in_a_loop, buckets_numpy, buckets_exactly, buckets_by_search, buckets_by_steps],
        [
            (decoder, "a decoder's rule"),
            (other_side, "sides are exchanged"),
            (positive_first, "relative position 0 went along"),
            (left_one_low_on_the_right, "every bucket is one too low"),
            (no_floor, "no whole numbers"),
            (factor_from_one, "but not from distance 1"),
            (exact_up_to_near, "counted from 1"),
            (at_least_zero, "to which side"),
            (twice_as_many, "num_buckets or larger"),
            (no_empty_bucket, "no key can have it"),
            (like_shaw, "Shaw's clip"),
            (without_an_end, "keys beyond it"),
            (usual_settings, "these numbers in your code"),
            (buckets_by(ln_alone), "its unit"),
            (buckets_by(nearest), "nearest whole number"),
            (buckets_by(upwards), "something rounded up"),
            (buckets_by(linear), "equally many distances"),
            (buckets_by(without_count), "grows from 0 to 1"),
            (buckets_by(near_forgotten), "starts at distance 1"),
            (buckets_by(last_is_separate), "should end there"),
            (buckets_by(factor_by_division), "each multiplies"),
            (buckets_by(whole_beginnings), "beginning of a bucket rounded down"),
            (last_exact_lost, "right but one on each side"),
            (outwards_from_the_left, "from far to near"),
        ],
        nearly=[buckets_of_whole_ratios],
    ),
    "skewed": Answers(
        [
            skewed_by_entry,
            skewed_by_row,
            skewed_gather,
            skewed_stride,
            skewed_numpy,
            skewed_masks,
        ],
        [
            (start_of_rows, "first n columns"),
            (same_window, "the same columns"),
            (query_minus_key, "left and right are exchanged"),
            (moving_right, "moves to the right"),
            (start_at_n, "too far right, and"),
            (negative_start, "too far left, and"),
            (columns_of_keys, "Rows and columns are exchanged"),
            (pad_and_stop, "more entries than there are keys"),
            (bare_stride, "what are the strides"),
            (row_of_key, "whose product"),
            (flat_from_the_middle, "With n = 1"),
            (zero_on_the_right, "so a padded zero"),
            (first_query_only, "of which query"),
        ],
    ),
    "mended_shaw": Answers(
        [shaw_in_loops, shaw_numpy, shaw_by_products, shaw_skewed],
        [
            (shaw_with(late_row, half_divided), "Both bugs"),
            (shaw_with(late_row, right_size), "to which range"),
            (shaw_with(right_row, half_divided), "stands above its line"),
            (shaw_with(right_row, twice_divided), "divided twice"),
            (shaw_with(right_row, wrong_half_divided), "and the other is not"),
            (shaw_with(right_row, undivided), "unlike T5's"),
            (shaw_with(right_row, divided_by_d), "d or its root"),
            (shaw_with(flipped_row, right_size), "far behind"),
            (shaw_with(unshifted_row, right_size), "Clipped rightly"),
            (shaw_with(low_row, right_size), "still read that of"),
            (shaw_with(wrapped_row, right_size), "negative index"),
            (shaw_with(short_row, right_size), "How many rows has the table"),
            (shaw_with(unsigned_row, half_divided), "lost its sign. The sizes"),
        ],
    ),
}

import itertools
import math
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers import Answers


def one_more_row(share, dim, layers, vocabulary):
    others = vocabulary * dim + layers * (12 * dim**2 + 13 * dim)
    rows = 0
    while (rows + 1) * dim <= share * (others + (rows + 1) * dim):
        rows += 1
    return rows


def exact_fractions(share, dim, layers, vocabulary):
    part = Fraction(str(share))
    return math.floor(part / (1 - part) * (vocabulary + layers * (12 * dim + 13)))


def whole_numpy(share, dim, layers, vocabulary):
    others = np.array([vocabulary * dim, layers * 12 * dim**2, layers * 13 * dim]).sum()
    return np.floor((others / (1 - share) - others) / dim)


def share_of_the_others(share, dim, layers, vocabulary):
    return int(share * (vocabulary * dim + layers * (12 * dim**2 + 13 * dim)) / dim)


def no_words(share, dim, layers, vocabulary):
    return one_more_row(share, dim, layers, 0)


def tables_alone(share, dim, layers, vocabulary):
    return int(share * vocabulary / (1 - share))


def a_single_layer(share, dim, layers, vocabulary):
    return int(share / (1 - share) * (vocabulary + 12 * dim + 13))


def matrices_alone(share, dim, layers, vocabulary):
    return int(share / (1 - share) * (vocabulary + layers * 12 * dim))


def words_in_every_layer(share, dim, layers, vocabulary):
    others = layers * (vocabulary * dim + 12 * dim**2 + 13 * dim)
    return int(share / (1 - share) * others / dim)


def divided_by_the_sum(share, dim, layers, vocabulary):
    return int(share / (1 + share) * (vocabulary + layers * (12 * dim + 13)))


def a_fraction_of_a_row(share, dim, layers, vocabulary):
    return share / (1 - share) * (vocabulary + layers * (12 * dim + 13))


def first_too_many(share, dim, layers, vocabulary):
    return one_more_row(share, dim, layers, vocabulary) + 1


def numbers_in_the_table(share, dim, layers, vocabulary):
    return int(share / (1 - share) * (vocabulary * dim + layers * (12 * dim**2 + 13 * dim)))


def row_after_row(table, places):
    rows, n = [table[0]], len(table) - 1
    for p in range(places):
        r = p * (n - 1) / (places - 1)
        m = min(int(r), n - 2)
        rows.append((1 - (r - m)) * table[1 + m] + (r - m) * table[2 + m])
    return torch.stack(rows)


def channel_after_channel(table, places):
    n = len(table) - 1
    at = np.linspace(0, n - 1, places)
    columns = [np.interp(at, np.arange(n), channel) for channel in table[1:].numpy().T]
    return np.vstack((table[:1].numpy(), np.stack(columns, axis=1)))


def as_a_picture(table, places):
    picture = table[1:].float()[None, None]
    wide = F.interpolate(picture, (places, table.shape[1]), mode="bilinear", align_corners=True)
    return torch.cat((table[:1].float(), wide[0, 0]))


def lerped(table, places):
    n = len(table) - 1
    at = torch.arange(places) * ((n - 1) / (places - 1))
    low = at.long().clamp(max=n - 2) + 1
    between = torch.lerp(table[low], table[low + 1], (at - low + 1)[:, None].to(table))
    return torch.vstack((table[0], between))


def the_chapters_function(table, places):
    rows = F.interpolate(table.T[None], size=places + 1, mode="linear", align_corners=True)
    return rows[0].T


def without_the_class(table, places):
    return channel_after_channel(table, places)[1:]


def total_length(table, places):
    return channel_after_channel(table, places - 1) if places > 2 else table[:2]


def defaults(table, places):
    rows = F.interpolate(table[1:].T[None], size=places, mode="linear")
    return torch.cat((table[:1], rows[0].T))


def steps_by_counts(table, places):
    n = len(table) - 1
    at = np.arange(places) * n / places
    columns = [np.interp(at, np.arange(n), channel) for channel in table[1:].numpy().T]
    return np.vstack((table[:1].numpy(), np.stack(columns, axis=1)))


def nearest(table, places):
    n = len(table) - 1
    rows = [table[1 + round(p * (n - 1) / (places - 1))] for p in range(places)]
    return torch.stack([table[0], *rows])


def whole_steps(table, places):
    n = len(table) - 1
    rows = [table[1 + p * (n - 1) // (places - 1)] for p in range(places)]
    return torch.stack([table[0], *rows])


def copies(table, places):
    patches = table[1:].repeat(places, 1)[:places]
    return torch.cat((table[:1], patches))


def zeros_behind(table, places):
    missing = places + 1 - len(table)
    return F.pad(table, (0, 0, 0, missing))


def extended_by_the_last(table, places):
    rows = table.tolist()[: places + 1]
    while len(rows) < places + 1:
        rows.append(rows[-1])
    return rows


def weights_the_wrong_way(table, places):
    rows, n = [table[0]], len(table) - 1
    for p in range(places):
        r = p * (n - 1) / (places - 1)
        m, f = int(r), r % 1
        rows.append(
            f * table[1 + m] + (1 - f) * table[1 + min(m + 1, n - 1)] if f else table[1 + m]
        )
    return torch.stack(rows)


def always_the_wrong_way(table, places):
    rows, n = [table[0]], len(table) - 1
    for p in range(places):
        r = p * (n - 1) / (places - 1)
        m, f = int(r), r % 1
        rows.append(f * table[1 + m] + (1 - f) * table[min(m + 2, n)])
    return torch.stack(rows)


def always_the_wrong_way_to_the_end(table, places):
    rows, n = [table[0]], len(table) - 1
    for p in range(places):
        r = p * (n - 1) / (places - 1)
        m = min(int(r), n - 2)
        rows.append((r - m) * table[1 + m] + (1 - r + m) * table[2 + m])
    return torch.stack(rows)


def one_row_too_low(table, places):
    rows, n = [table[0]], len(table) - 1
    for p in range(places):
        r = p * (n - 1) / (places - 1)
        m = int(r)
        rows.append((1 - r + m) * table[m] + (r - m) * table[m + 1])
    return torch.stack(rows)


def class_last(table, places):
    return np.roll(channel_after_channel(table, places), -1, axis=0)


def on_and_on(table, places):
    rows = list(table)
    while len(rows) < places + 1:
        rows.append(rows[-1] + (table[-1] - table[-2]))
    return torch.stack(rows[: places + 1])


def short_of_the_end(table, places):
    n = len(table) - 1
    at = np.arange(places) / places * (n - 1)
    columns = [np.interp(at, np.arange(n), channel) for channel in table[1:].numpy().T]
    return np.vstack((table[:1].numpy(), np.stack(columns, axis=1)))


def class_twice(table, places):
    return channel_after_channel(torch.cat((table[:1], table)), places)


def counters(texts):
    rows = []
    for row in texts.tolist():
        seen, ids = {}, []
        for text in row:
            ids.append(seen.get(text, 0) if text else 0)
            seen[text] = seen.get(text, 0) + 1
        rows.append(ids)
    return rows


def running_start(texts):
    columns = torch.arange(texts.shape[1])
    new = torch.cat((torch.ones(len(texts), 1), texts.diff(dim=1)), dim=1) != 0
    start = torch.where(new, columns, 0).cummax(dim=1).values
    return torch.where(texts > 0, columns - start, 0)


def each_text_of_its_own(texts):
    ids = torch.zeros_like(texts)
    for row in range(len(texts)):
        for text in texts[row].unique():
            if text:
                inside = texts[row] == text
                ids[row, inside] = torch.arange(int(inside.sum()))
    return ids


def first_occurrence(texts):
    batch = texts.numpy()
    first = (batch[:, :, None] == batch[:, None, :]).argmax(axis=2)
    return np.where(batch > 0, np.arange(batch.shape[1]) - first, 0)


def as_given(texts):
    is_token = texts > 0
    return is_token.cumsum(dim=0) - 1


def axis_mended(texts):
    return [[sum(t > 0 for t in row[: i + 1]) - 1 for i in range(len(row))] for row in texts]


def chapters_cure(texts):
    return ((texts > 0).cumsum(-1) - 1).clamp(min=0)


def chapters_cure_masked(texts):
    return chapters_cure(texts).masked_fill(texts == 0, 0)


def all_columns(texts):
    return np.tile(np.arange(texts.shape[1]), (len(texts), 1))


def restarted_where_it_grows(texts):
    rows = []
    for row in texts.tolist():
        ids, begin, before = [], 0, 0
        for column, text in enumerate(row):
            if text > before:
                begin = column
            before = text
            ids.append(column - begin if text else 0)
        rows.append(ids)
    return rows


def behind_smaller_numbers(texts):
    rows = []
    for row in texts.tolist():
        ids, count = [], 0
        for text in row:
            smaller = sum(0 < other < text for other in row)
            ids.append(count - smaller if text else 0)
            count += text > 0
        rows.append(ids)
    return rows


def from_one(texts):
    return [
        [id + 1 if text else 0 for id, text in zip(*pair, strict=True)] for pair in pairs(texts)
    ]


def pairs(texts):
    return zip(counters(texts), texts.tolist(), strict=True)


def tokens_so_far(texts):
    return np.cumsum(texts.numpy() > 0, axis=1)


def earlier_with_the_same_number(texts):
    return [[row[:i].count(text) for i, text in enumerate(row)] for row in texts.tolist()]


def padding_is_a_text(texts):
    rows = []
    for row in texts.tolist():
        ids = [0]
        for before, text in itertools.pairwise(row):
            ids.append(ids[-1] + 1 if text == before else 0)
        rows.append(ids)
    return rows


def minus_one_below(texts):
    return running_start(texts).masked_fill(texts == 0, -1)


def one_loop_for_all(texts):
    ids, before, count = [], None, 0
    for text in texts.flatten().tolist():
        count = count + 1 if text == before else 0
        before = text
        ids.append(count if text else 0)
    return torch.tensor(ids).view_as(texts)


ANSWERS = {
    "affordable_positions": Answers(
        [one_more_row, exact_fractions, whole_numpy],
        [
            (share_of_the_others, "belongs to the model"),
            (no_words, "Which table is missing"),
            (tables_alone, "than its two tables"),
            (a_single_layer, "How many does this one have"),
            (matrices_alone, "13 vectors"),
            (words_in_every_layer, "there once"),
            (divided_by_the_sum, "watch its sign"),
            (a_fraction_of_a_row, "whole rows"),
            (first_too_many, "is exceeded"),
            (numbers_in_the_table, "one position cost"),
        ],
    ),
    "stretched_table": Answers(
        [row_after_row, channel_after_channel, as_a_picture, lerped],
        [
            (the_chapters_function, "mixture with the class row"),
            (class_twice, "there twice"),
            (without_the_class, "what became of row 0"),
            (total_length, "does not include"),
            (defaults, "align the corners"),
            (steps_by_counts, "steps are too long"),
            (nearest, "lies a mixture"),
            (whole_steps, "rounded down"),
            (weights_the_wrong_way, "should resemble it"),
            (always_the_wrong_way, "falls on an old one"),
            (always_the_wrong_way_to_the_end, "Even your first place"),
            (one_row_too_low, "Whose row"),
            (class_last, "not last"),
            (on_and_on, "go on past"),
            (short_of_the_end, "does not reach"),
            (copies, "repeat the places"),
            (zeros_behind, "with zeros"),
            (extended_by_the_last, "with its last row"),
        ],
    ),
    "position_ids": Answers(
        [counters, running_start, each_text_of_its_own, first_occurrence],
        [
            (as_given, "All three faults"),
            (axis_mended, "Two faults are left"),
            (chapters_cure, "from text to text"),
            (chapters_cure_masked, "first token of the second one"),
            (all_columns, "numbers of the columns"),
            (restarted_where_it_grows, "not begin at 0"),
            (behind_smaller_numbers, "for the earlier ones"),
            (from_one, "not 1"),
            (tokens_so_far, "Three things are left"),
            (earlier_with_the_same_number, "both sides together"),
            (padding_is_a_text, "one more text"),
            (minus_one_below, "negative number"),
            (one_loop_for_all, "are not one text"),
        ],
    ),
}

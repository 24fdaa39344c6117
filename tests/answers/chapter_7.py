import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from posenc import alibi_bias, alibi_slopes, lab, sinusoidal_encoding
from posenc.lab import METHODS, TASKS, Method, Recipe, Transformer, evaluate
from posenc.lab.paired import student
from tests.answers import Answers

train = functools.cache(lab.train)  # what is trained in the same way is trained once


def trained(method, length, steps):
    return train(method, "text", train_length=length, recipe=Recipe(steps=steps))


def compared_numpy(methods, train_length, test_length, steps):
    losses = np.full((len(methods), 2), np.nan)
    for row, method in enumerate(methods):
        results = evaluate(
            trained(method, train_length, steps), "text", [train_length, test_length]
        )
        for column, length in enumerate((train_length, test_length)):
            if not isinstance(results[length], str):
                losses[row, column] = results[length]["tail_loss"]
    return losses


def compared_by_exceptions(methods, train_length, test_length, steps):
    def loss(model, length):
        try:
            return evaluate(model, "text", [length])[length]["tail_loss"]
        except TypeError:
            return math.nan

    models = [trained(method, train_length, steps) for method in methods]
    return [(loss(model, train_length), loss(model, test_length)) for model in models]


@torch.no_grad()
def tail_loss(model: Transformer, length):
    generator = torch.Generator().manual_seed(10_000)
    batch = TASKS["text"].sample(generator, 128, length, part="test")
    try:
        logits = model(batch.inputs)[:, -16:]
    except IndexError:
        return torch.tensor(math.nan)
    return F.cross_entropy(logits.flatten(0, 1), batch.targets[:, -16:].flatten())


def compared_by_hand(methods, train_length, test_length, steps):
    rows = []
    for method in methods:
        model = trained(method, train_length, steps)
        rows.append(torch.stack([tail_loss(model, n) for n in (train_length, test_length)]))
    return torch.stack(rows)


def pairs(methods, train_length, test_length, steps, pair):
    found = []
    for method in methods:
        model = trained(method, train_length, steps)
        found.append(pair(evaluate(model, "text", [train_length, test_length]).values()))
    return found


def compared_by_the_name(methods, train_length, test_length, steps):
    rows = []
    for method in methods:
        both = (train_length,) if method == "learned" else (train_length, test_length)
        results = evaluate(trained(method, train_length, steps), "text", both)
        losses = [results[length]["tail_loss"] for length in both]
        rows.append([*losses, math.nan][:2])
    return rows


def compared_without_refusals(*given):
    return pairs(*given, lambda results: [result["tail_loss"] for result in results])


def compared_by_mean(*given):
    return pairs(*given, lambda rs: [math.nan if type(r) is str else r["loss"] for r in rs])


def compared_on_few(methods, train_length, test_length, steps):
    rows, both = [], [train_length, test_length]
    for method in methods:
        results = evaluate(trained(method, train_length, steps), "text", both, sequences=64)
        rows.append([r["tail_loss"] if isinstance(r, dict) else np.nan for r in results.values()])
    return np.array(rows)


def compared_with_zero(*given):
    return pairs(*given, lambda rs: [0 if type(r) is str else r["tail_loss"] for r in rs])


def compared_long_first(*given):
    return [row[::-1] for row in compared_by_exceptions(*given)]


def compared_trained_long(methods, train_length, test_length, steps):
    both = train_length, test_length
    models = [trained(method, test_length, steps) for method in methods]
    return [[evaluate(m, "text", [n])[n]["tail_loss"] for n in both] for m in models]


def compared_at_home(methods, train_length, test_length, steps):
    return [
        [tail_loss(trained(method, n, steps), n).item() for n in (train_length, test_length)]
        for method in methods
    ]


def ntk_by_logarithm(base, dim, factor):
    slowest = math.log(base) * (dim - 2) / dim
    return math.exp((slowest + math.log(factor)) * dim / (dim - 2))


def ntk_by_bisection(base, dim, factor):
    wanted = base ** (2 / dim - 1) / factor
    low, high = 0.0, math.log(base) + 10 * abs(math.log(factor)) + 1
    for _ in range(100):
        middle = (low + high) / 2
        if math.exp(middle * (2 / dim - 1)) > wanted:
            low = middle
        else:
            high = middle
    return np.exp(high)


def ntk_by_pairs(base, dim, factor):
    pair = dim // 2 - 1
    return torch.tensor(base) * torch.tensor(factor) ** (1 + 1 / pair)


class RootByLoops(Method):
    def bias(self, relative):
        heads = []
        for slope in alibi_slopes(self.config.num_heads).tolist():
            rows = [[-math.sqrt(slope * abs(n)) for n in row] for row in relative.tolist()]
            heads.append(torch.tensor(rows))
        return torch.stack(heads)


class RootInBuffer(Method):
    def __init__(self, config):
        super().__init__(config)
        self.register_buffer("roots", alibi_slopes(config.num_heads).sqrt().float())

    def bias(self, relative):
        return -self.roots.view(-1, 1, 1) * relative.abs() ** 0.5


class RootOfAlibi(Method):
    def bias(self, relative):
        return -alibi_bias(alibi_slopes(self.config.num_heads), relative).abs().sqrt()


class RootInNumpy(Method):
    def bias(self, relative):
        slopes = alibi_slopes(self.config.num_heads).numpy()
        return torch.from_numpy(-np.sqrt(np.multiply.outer(slopes, np.abs(relative.numpy()))))


def slopes_of(method):
    return alibi_slopes(method.config.num_heads)[:, None, None]


class RootRewarding(Method):
    def bias(self, relative):
        return (slopes_of(self) * relative.abs()).sqrt()


class RootOfNegative(Method):
    def bias(self, relative):
        return -(slopes_of(self) * relative).sqrt()


class RootOfMinus(Method):
    def bias(self, relative):
        return torch.sqrt(-slopes_of(self) * relative.abs())


class RootUnshaped(Method):
    def bias(self, relative):
        return -(alibi_slopes(self.config.num_heads) * relative.abs()).sqrt()


class RootWithoutHeads(Method):
    def bias(self, relative):
        return -relative.abs().sqrt()


class RootOutside(Method):
    def bias(self, relative):
        return -slopes_of(self) * relative.abs().sqrt()


class RootMissing(Method):
    def bias(self, relative):
        return -slopes_of(self) * relative.abs()


class RootOfThePast(Method):
    def bias(self, relative):
        return -(slopes_of(self) * (-relative).clamp(min=0)).sqrt()


class RootFromShape(Method):
    def bias(self, relative):
        queries, keys = relative.shape
        distance = torch.arange(queries)[:, None] - torch.arange(keys)
        return -(slopes_of(self) * distance.abs()).sqrt()


class RootAndMore(RootOfAlibi):
    def embed(self, x, positions):
        return x + sinusoidal_encoding(positions, self.config.dim)


class RootAlone(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    bias = RootOfAlibi.bias


def bounded_fourier(positions, dim):
    speed = torch.randn(dim, generator=torch.Generator().manual_seed(3)) / 2
    return np.tanh(3 * np.sin(np.outer(positions.numpy(), speed.numpy()) + np.arange(dim)))


def triangles_of_integers(positions, dim):
    half = [4 + c % 13 for c in range(dim)]
    return [[abs((p + c) % (2 * h) - h) for c, h in enumerate(half)] for p in positions.tolist()]


def fourier(positions, dim):
    generator = torch.Generator().manual_seed(0)
    speed = torch.randn(dim // 2, generator=generator) / 2
    turn = positions[:, None] * speed
    return torch.cat((turn.sin(), turn.cos()), dim=1)


def counter(positions, dim):
    bit = np.arange(dim) % 8
    digits = positions.numpy()[:, None] // 2**bit % 2
    return (2 * digits - 1) * 1.3**bit


def ring_of_bumps(positions, dim):
    rows = []
    for position in positions.tolist():
        row = []
        for channel in range(dim):
            gap = (position - 300 * channel / dim) % 300
            row.append(math.exp(-((min(gap, 300 - gap) / 24) ** 2)))
        rows.append(row)
    return torch.tensor(rows)


def saws(positions, dim):
    return positions[:, None] / (6 * 1.25 ** torch.arange(dim, dtype=torch.float64)) % 1


def sinusoids_of_base_100(positions, dim):
    turn = positions.numpy()[:, None] / 100 ** (np.arange(dim // 2) * 2 / dim)
    return np.concatenate([np.exp(1j * turn).real, np.exp(1j * turn).imag], axis=1)


def smoothed_noise(positions, dim):
    knots = torch.rand(61, dim, generator=torch.Generator().manual_seed(1))
    before, share = positions // 3, (positions % 3)[:, None] / 3
    return (1 - share) * knots[before % 61] + share * knots[(before + 1) % 61]


def book_table(positions, dim, base=10_000.0):
    """The table of chapter 2, typed in: calling it is refused."""
    turn = positions.double()[:, None] / base ** (torch.arange(0, dim, 2).double() / dim)
    return torch.stack((turn.sin(), turn.cos()), dim=-1).flatten(1)


def the_packages_table(positions, dim):
    return sinusoidal_encoding(1.02 * positions.double(), dim)


def the_sinusoids(positions, dim):
    """Every disguise in one: shifted, stretched, raised, reordered, and one column lost."""
    table = 3 * book_table(positions + 1, dim).unflatten(1, (-1, 2)).mT.flatten(1).flip(-1) + 0.1
    table[:, 0] = 1
    return table


def rounded_sinusoids(positions, dim):
    return book_table(positions, dim).numpy().round(1)


def bent_sinusoids(positions, dim):
    return torch.tanh(2 * book_table(positions, dim))


def noise_of_normal_numbers(positions, dim):
    drawn = torch.randn(dim, 500, generator=torch.Generator().manual_seed(1))
    return F.avg_pool1d(drawn, 5, stride=1).T[positions]


def drawn(positions, dim):
    table = torch.rand(400, dim, generator=torch.Generator().manual_seed(2))
    return table[positions]


def share_of_length(positions, dim):
    return book_table(64 * positions / len(positions), dim, base=100.0)


def growing(positions, dim):
    return positions[:, None].float().expand(-1, dim)


def short_period(positions, dim):
    turn = positions[:, None] * torch.arange(1, dim // 2 + 1) * (math.tau / 60)
    return torch.cat((turn.sin(), turn.cos()), dim=1) / torch.arange(1, dim // 2 + 1).repeat(2) ** 2


def a_table_of_range(positions, dim):
    return saws(torch.arange(96), dim)[positions]


def unseeded(positions, dim):
    return saws(positions + int(torch.randint(100, ())), dim)


def reach_at_the_longest(lengths, shares, chance):
    read = (shares[-1] - chance) / (1 - chance)
    return lengths[-1] * min(1.0, max(0.0, read))


def reach_by_arrays(lengths, shares, chance):
    read = (np.array(shares) - chance) / (1 - chance) * np.array(lengths)
    return np.clip(read, 0, lengths).max()


def reach_by_trial(lengths, shares, chance):
    """The largest of many reaches that no length speaks against by much."""
    longest, found = lengths[-1], shares[-1]
    tried = [longest * n / 4000 for n in range(4001)]
    return min(tried, key=lambda w: abs(w / longest + (1 - w / longest) * chance - found))


def guesses_counted(lengths, shares, chance):
    return lengths[-1] * shares[-1]


def at_the_shortest(lengths, shares, chance):
    return max(0.0, lengths[0] * (shares[0] - chance) / (1 - chance))


def below_zero(lengths, shares, chance):
    return lengths[-1] * (shares[-1] - chance) / (1 - chance)


def beyond_the_longest(lengths, shares, chance):
    right = reach_at_the_longest(lengths, shares, chance)
    return 2 * right if right >= lengths[-1] else right


T_975 = dict(
    zip(
        range(4, 16),
        (2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
        strict=True,
    )
)


def by_students_t(first, second):
    gains = [b - a for a, b in zip(first, second, strict=True)]
    n = len(gains)
    mean = sum(gains) / n
    error = math.sqrt(sum((g - mean) ** 2 for g in gains) / (n - 1) / n)
    return 0 if abs(mean) <= T_975[n - 1] * error else 1 if mean > 0 else -1


def by_arrays(first, second):
    gains = np.subtract(second, first)
    reach = T_975[len(gains) - 1] * gains.std(ddof=1) / np.sqrt(len(gains))
    return int(gains.mean() > reach) - int(gains.mean() < -reach)


def by_students_t_at(share):
    """Student's t, wrong in this share of all cases in which there is nothing."""

    def rule(first, second):
        gains = np.subtract(second, first)
        reach = student(1 - share / 2, len(gains) - 1) * gains.std(ddof=1) / math.sqrt(len(gains))
        return int(gains.mean() > reach) - int(gains.mean() < -reach)

    return rule


def by_signs(first, second):
    n, wins = len(first), sum(a < b for a, b in zip(first, second, strict=True))
    losses = sum(a > b for a, b in zip(first, second, strict=True))
    most = max(wins, losses)
    luck = 2 * sum(math.comb(n, k) for k in range(most, n + 1)) / 2**n
    return 0 if luck > 0.07 else 1 if wins > losses else -1


def the_lower_mean(first, second):
    return (sum(first) < sum(second)) - (sum(first) > sum(second))


def all_agree(first, second):
    pairs = list(zip(first, second, strict=True))
    return int(all(a < b for a, b in pairs)) - int(all(a > b for a, b in pairs))


def unpaired(first, second):
    one, other = np.array(first), np.array(second)
    error = math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / len(one))
    gain = other.mean() - one.mean()
    return int(gain > 2.1 * error) - int(gain < -2.1 * error)


def by_a_hundredth(first, second):
    gain = (sum(second) - sum(first)) / len(first)
    return int(gain > 0.01) - int(gain < -0.01)


def of_known_spread(first, second):
    level = sum([*first, *second]) / len(first) / 2
    gain = (sum(second) - sum(first)) / len(first)
    unit = 0.02 if level < 11 else 0.2  # all were once drawn so
    return int(gain > 2.5 * unit / len(first) ** 0.5) - int(gain < -2.5 * unit / len(first) ** 0.5)


def higher_is_better(first, second):
    return -by_students_t(first, second)


def compared_by_names(methods, train_length, test_length, steps):
    return compared_by_hand([METHODS[m] for m in methods], train_length, test_length, steps)


def ntk_rounded(base, dim, factor):
    return round(base * factor ** (dim / (dim - 2)), 1)


ANSWERS = {
    "compared": Answers(
        [compared_numpy, compared_by_exceptions, compared_by_hand],
        [
            (compared_without_refusals, "What does `evaluate` give"),
            (compared_by_mean, "over all positions"),
            (compared_with_zero, "perfect model"),
            (compared_on_few, "How many test texts"),
            (compared_long_first, "begins with the training length"),
            (compared_trained_long, "At which length is it trained"),
            (compared_at_home, "One model, two tests"),
        ],
        nearly=[compared_by_names],
        green=[compared_by_the_name],
    ),
    "ntk_base": Answers(
        [ntk_by_logarithm, ntk_by_bisection, ntk_by_pairs],
        [
            (lambda base, dim, factor: base * factor, "by too little"),
            (lambda base, dim, factor: base * factor ** ((dim - 2) / dim), "upside down"),
            (lambda base, dim, factor: base * factor ** (dim // 2), "second pair"),
            (lambda base, dim, factor: base / factor ** (dim / (dim - 2)), "turn faster"),
            (lambda base, dim, factor: base**factor, "power of itself"),
            (lambda base, dim, factor: base * factor ** (1 / (0.5 - 1 / dim)), "both bases"),
        ],
        nearly=[ntk_rounded],
    ),
    "Root": Answers(
        [RootByLoops, RootInBuffer, RootOfAlibi, RootInNumpy],
        [
            (RootRewarding, "far keys gain"),
            (RootOfNegative, "both signs"),
            (RootOfMinus, "where does the minus sign stand"),
            (RootUnshaped, "heads come first"),
            (RootWithoutHeads, "One matrix a head"),
            (RootOutside, "belongs under it"),
            (RootMissing, "This is ALiBi"),
            (RootOfThePast, "come after the query"),
            (RootFromShape, "may start"),
            (RootAndMore, "Something else"),
            (RootAlone, "from `Method`"),
        ],
    ),
    "my_encoding": Answers(
        [
            fourier,
            counter,
            ring_of_bumps,
            saws,
            sinusoids_of_base_100,
            smoothed_noise,
            bounded_fourier,
            triangles_of_integers,
        ],
        [
            (the_sinusoids, "Another scale or order"),
            (the_packages_table, "write it yourself"),
            (rounded_sinusoids, "for a little rounding"),
            (bent_sinusoids, "applied to a known encoding"),
            (noise_of_normal_numbers, "bounded by force"),
            (drawn, "too much changes"),
            (share_of_length, "on its own position alone"),
            (growing, "grows beyond"),
            (short_period, "nearly the same vector"),
            (a_table_of_range, "however large"),
            (unseeded, "Chance needs"),
        ],
    ),
    "reach": Answers(
        [reach_at_the_longest, reach_by_arrays, reach_by_trial],
        [
            (at_the_shortest, "In short ones all are right"),
            (guesses_counted, "Who guesses finds some"),
            (below_zero, "also when it was unlucky"),
            (beyond_the_longest, "nobody showed it a longer one"),
        ],
    ),
    "better": Answers(
        [by_students_t, by_arrays, by_signs],
        [
            (the_lower_mean, "Some difference there always is"),
            (all_agree, "one of them may disagree"),
            (unpaired, "Both share their seeds"),
            (by_a_hundredth, "Which unit"),
            (higher_is_better, "the better the lower"),
        ],
        nearly=[of_known_spread],
    ),
}

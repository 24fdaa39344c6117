"""The laboratory's models differ in their positions alone; its tasks and results are right."""

import contextlib
import datetime
import hashlib
import itertools
import math
import random
import re
import statistics
import sys
import threading
import types
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
import spec
import torch
from helpers import close, randn, same

from posenc import attention, causal_mask, sinusoidal_encoding
from posenc.lab import (
    METHODS,
    TASKS,
    Config,
    Method,
    Recipe,
    Task,
    Transformer,
    corpus,
    counted_losses,
    device_times,
    evaluate,
    peak_memory,
    provenance,
    train,
)
from posenc.lab import tasks as tasks_module
from posenc.lab import training as training_module
from posenc.lab.provenance import commit, device_name
from posenc.lab.tasks import PARTS

DECODER = Config(11, True, 12, dim=16, num_heads=2, num_layers=2)
ENCODER = Config(9, False, 40, dim=24, num_heads=3, num_layers=2)
TINY = {"dim": 16, "num_heads": 2, "num_layers": 1}
FEW = Recipe(steps=2, batch=4)
IGNORED = -100

both_configs = pytest.mark.parametrize("config", [DECODER, ENCODER], ids=["decoder", "encoder"])
every_method = pytest.mark.parametrize("name", METHODS)
every_task = pytest.mark.parametrize("name", TASKS)


def loud(module):
    """The module with weights so large that none can be overlooked."""
    gain = getattr(getattr(module, "method", module), "gain", 1)  # too loud is one-hot attention
    with torch.no_grad():
        for number, (name, weight) in enumerate(module.named_parameters()):
            scale = gain if name.endswith("table.weight") else 1
            weight.copy_(randn(*weight.shape, seed=number) / scale)
    return module


def shared(model):
    """All weights but the method's own."""
    state = model.state_dict()
    return {name: state[name] for name in state if not name.startswith("method.")}


def equal(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[n], others[n]) for n in some)


def tokens(config, n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(config.vocabulary, (1, n), generator=generator)


# --- only the method changes ---


@both_configs
@every_method
def test_all_weights_but_the_methods_own_depend_on_the_seed_alone(config, name):
    torch.manual_seed(1)
    plain = Transformer(config, Method, seed=3)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    model = Transformer(config, METHODS[name], seed=3)
    same(torch.get_rng_state(), before)
    assert equal(shared(model), plain.state_dict())
    again, other = (Transformer(config, METHODS[name], seed=seed) for seed in (3, 4))
    assert equal(again.state_dict(), model.state_dict())
    alike = {
        n for n, weight in model.state_dict().items() if torch.equal(weight, other.state_dict()[n])
    }
    assert alike == {n for n in model.state_dict() if "norm" in n}  # ones and zeros


def test_models_drawn_in_two_threads_do_not_disturb_each_other():
    begun, meddled, drawn = (threading.Event() for _ in range(3))

    class Slow(Method):
        def __init__(self, config):
            super().__init__(config)
            begun.set()
            meddled.wait(0.3)  # in vain
            self.weight = torch.nn.Parameter(torch.randn(3))
            drawn.set()

    class Meddler(Method):
        def __init__(self, config):
            super().__init__(config)
            meddled.set()
            drawn.wait()

    def meddle():
        begun.wait()
        Transformer(DECODER, Meddler, seed=9)

    thread = threading.Thread(target=meddle)
    thread.start()
    model = Transformer(DECODER, Slow, seed=3)
    thread.join()
    same(model.method.weight.data, Transformer(DECODER, Slow, seed=3).method.weight.data)


class Recorded(Task):
    """A task that remembers what it was asked for and what it gave."""

    def __init__(self, name):
        self.task, self.asked, self.gave = TASKS[name], [], []
        self.vocabulary, self.causal = self.task.vocabulary, self.task.causal
        self.measure, self.shortest = self.task.measure, self.task.shortest

    chance = 0.0

    def sample(self, generator, batch, length, *, part="train"):
        self.asked.append((batch, length, part))
        self.gave.append(self.task.sample(generator, batch, length, part=part))
        return self.gave[-1]

    def gave_as(self, other):
        return [torch.equal(a.inputs, b.inputs) for a, b in zip(self.gave, other.gave, strict=True)]


@pytest.mark.parametrize("name", ["text", "masked-text", "induction"])
def test_batches_of_training_depend_on_the_seed_and_not_on_the_method(name):
    plain, shaw, other = recorded = [Recorded(name) for _ in range(3)]
    for method, task, seed in zip(["none", "shaw", "none"], recorded, [0, 0, 1], strict=True):
        train(method, task, train_length=8, seed=seed, recipe=Recipe(3, 5), size=TINY)
        assert task.asked == [(5, 8, "train")] * 3
    assert plain.gave_as(shaw) == [True] * 3
    assert plain.gave_as(other) == [False] * 3
    assert not torch.equal(plain.gave[0].inputs, plain.gave[1].inputs)


@every_method
@pytest.mark.parametrize("at", [1, 6, 11])
def test_in_a_decoder_a_later_token_changes_no_earlier_logit_in_an_encoder_it_does(name, at):
    for config in (DECODER, ENCODER):
        model = Transformer(config, METHODS[name], seed=0)
        loud(model.method)
        line = tokens(config, 12)
        changed = line.clone()
        changed[0, at] = (line[0, at] + 1) % config.vocabulary
        moved = (model(line) - model(changed))[0].abs().amax(-1)
        assert (moved[at:] > 1e-6).all()
        assert (moved[:at] == 0).all() if config.causal else (moved[:at] > 1e-6).all()


@every_method
def test_only_the_encoder_without_positions_is_permutation_equivariant(name):
    model = Transformer(ENCODER, METHODS[name], seed=0)
    loud(model.method)
    line, order = (
        tokens(ENCODER, 12),
        torch.randperm(12, generator=torch.Generator().manual_seed(1)),
    )
    difference = (model(line)[:, order] - model(line[:, order])).abs().max().item()
    assert difference < 1e-5 if name == "none" else difference > 1e-2


def test_the_model_embeds_once_and_attends_once_a_layer():
    calls = []

    class Spy(Method):
        def embed(self, x, positions):
            calls.append(("embed", positions.tolist()))
            return x

        def attend(self, layer, q, k, v, positions, mask):
            calls.append((layer, positions.tolist(), mask if mask is None else mask.tolist()))
            return v

    for config in (DECODER, ENCODER):
        calls.clear()
        Transformer(config, Spy, seed=0)(tokens(config, 3))
        mask = [[True, False, False], [True, True, False], [True] * 3] if config.causal else None
        assert calls == [("embed", [0, 1, 2]), (0, [0, 1, 2], mask), (1, [0, 1, 2], mask)]


@both_configs
def test_the_model_is_its_literal_transcription(config):
    model = loud(Transformer(config, Method, seed=0)).double()
    line = tokens(config, 5)
    weights = {name: weight.tolist() for name, weight in model.state_dict().items()}
    expected = spec.transformer(
        line[0].tolist(), weights, config.num_layers, config.num_heads, config.causal
    )
    close(model(line)[0], torch.tensor(expected, dtype=torch.float64), atol=1e-9)
    for layer in model.layers:
        assert layer.perceptron[0].weight.shape == (4 * config.dim, config.dim)
        assert layer.qkv.weight.shape == (3 * config.dim, config.dim)


def test_training_is_its_literal_transcription():
    """Batches of the seed, the loss of the targets, clipped gradients, AdamW, the rates."""
    recipe = Recipe(steps=4, batch=3, rate=0.05)
    size = {"dim": 4, "num_heads": 2, "num_layers": 1}
    trained = train("none", "who", train_length=5, seed=2, recipe=recipe, size=size)
    data = torch.Generator().manual_seed(2)
    batches = [TASKS["who"].sample(data, 3, 5) for _ in range(4)]
    model = Transformer(trained.config, Method, seed=2).double()
    norms = []

    def gradients(weights):
        batch = batches[len(norms)]
        torch.nn.utils.vector_to_parameters(torch.tensor(weights).double(), model.parameters())
        chosen = model(batch.inputs).log_softmax(-1)[batch.targets != IGNORED]
        asked = batch.targets[batch.targets != IGNORED]
        loss = -chosen[torch.arange(len(asked)), asked].mean()
        flat = torch.cat([g.flatten() for g in torch.autograd.grad(loss, model.parameters())])
        norms.append(flat.norm().item())
        return flat.tolist()

    start = torch.nn.utils.parameters_to_vector(model.parameters()).tolist()
    expected = spec.adamw(start, gradients, [recipe.rate_at(step) for step in range(4)])
    assert max(norms) > 1.2  # or clipping would not show
    actual = torch.nn.utils.parameters_to_vector(trained.parameters())
    close(actual.double(), torch.tensor(expected), atol=2e-4)


@pytest.mark.parametrize(
    ("message", "settings"),
    [
        ("vocabulary must be positive, got 0", {"vocabulary": 0}),
        ("train_length must be positive, got -1", {"train_length": -1}),
        ("num_heads must be positive, got 0", {"num_heads": 0}),
        ("num_layers must be positive, got 0", {"num_layers": 0}),
        ("dim must be a multiple of 2 num_heads = 8, got 12", {"dim": 12, "num_heads": 4}),
    ],
)
def test_impossible_sizes_are_refused(message, settings):
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(DECODER, **settings)


# --- each method computes what it says ---


def added_sinusoids(method, x):
    table = spec.sinusoidal_interleaved(range(x.shape[1]), x.shape[2])
    return x + math.sqrt(2) * torch.tensor(table)


def added_rows(method, x):
    return torch.stack([x[:, p] + method.table.weight[p] for p in range(x.shape[1])], dim=1)


def unchanged(method, x):
    return x


def plain(method, layer, q, k, v, mask):
    return attention(q, k, v, mask=mask)[0]


def turned(method, layer, q, k, v, mask):
    q, k = (
        torch.stack(
            [
                torch.tensor(spec.rope_half(x.numpy(), range(len(x)), x.shape[1]))
                for x in part.flatten(0, 1)
            ]
        ).view_as(part)
        for part in (q, k)
    )
    return attention(q, k, v, mask=mask)[0]


def penalised(method, layer, q, k, v, mask):
    places = range(q.shape[-2])
    bias = spec.alibi_bias(spec.alibi_slopes(q.shape[1]), places, places)
    return attention(q, k, v, bias=torch.tensor(bias), mask=mask)[0]


def bucketed(beyond):
    def attend(method, layer, q, k, v, mask):
        config, n = method.config, q.shape[-2]
        farthest = max(16, 2 * config.train_length if beyond else config.train_length // 2)
        buckets = 16 if config.causal else 32
        bias = torch.empty(config.num_heads, n, n, dtype=torch.float64)
        for i in range(n):
            for j in range(n):
                row = spec.t5_bucket(j - i, buckets, farthest, not config.causal)
                bias[:, i, j] = 30 * method.table.weight[row]
        return attention(q, k, v, bias=bias, mask=mask)[0]

    return attend


def by_head(heads):
    """[1, h, n, d] from one [n, d] a head."""
    return torch.stack([torch.as_tensor(head) for head in heads])[None]


def with_shaw_tables(method, layer, q, k, v, mask):
    n, tables = q.shape[-2], method.layers[layer]
    clip = method.config.train_length // 4
    keys, values = (w.detach().double().numpy() for w in (tables.key_weight, tables.value_weight))
    seen = spec.causal_mask(range(n), range(n)) if mask is not None else None
    return by_head(
        spec.shaw(*(x[0, h].numpy() for x in (q, k, v)), *2 * [range(n)], clip, keys, values, seen)[
            0
        ]
        for h in range(q.shape[1])
    )


def with_four_terms(method, layer, q, k, v, mask):
    places, own = range(q.shape[-2]), method.layers[layer]
    u, w, w_r = (part.detach().double().numpy() for part in (own.u, own.v, own.w_r))
    scores = by_head(
        spec.transformer_xl_scores(
            q[0, h].numpy(), k[0, h].numpy(), places, places, u[h], w[h], w_r[h]
        )
        for h in range(q.shape[1])
    )
    return attention(torch.zeros_like(q), k, v, bias=scores, mask=mask)[0]


COMPUTES = {
    "none": (unchanged, plain),
    "sinusoidal": (added_sinusoids, plain),
    "learned": (added_rows, plain),
    "shaw": (unchanged, with_shaw_tables),
    "transformer-xl": (unchanged, with_four_terms),
    "t5": (unchanged, bucketed(beyond=False)),
    "t5-beyond": (unchanged, bucketed(beyond=True)),
    "rope": (unchanged, turned),
    "alibi": (unchanged, penalised),
    "hybrid": (added_sinusoids, bucketed(beyond=False)),
}


@both_configs
@every_method
def test_a_method_computes_what_it_says(config, name):
    method = loud(METHODS[name](config))
    n, heads = config.train_length, config.num_heads
    positions = torch.arange(n)
    mask = causal_mask(positions, positions) if config.causal else None
    embed, attend = COMPUTES[name]
    x = randn(2, n, config.dim)
    close(method.embed(x.float(), positions), embed(method, x), atol=1e-5)
    q, k, v = (randn(1, heads, n, config.head_dim, seed=seed) for seed in range(3))
    for layer in range(config.num_layers):
        actual = method.attend(layer, q.float(), k.float(), v.float(), positions, mask)
        close(actual, attend(method, layer, q, k, v, mask), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "std"), [("learned", 1), ("shaw", 0.02), ("transformer-xl", 0.05)]
)
def test_what_a_method_learns_begins_as_loud_as_it_says(name, std):
    own = METHODS[name](replace(DECODER, train_length=200, dim=64))
    drawn = torch.cat([weight.detach().flatten() for weight in own.parameters()])
    assert drawn.std().item() == pytest.approx(std, rel=0.1)


def test_the_sinusoids_are_added_at_the_mean_square_of_the_embeddings():
    model = Transformer(Config(500, True, 64), METHODS["sinusoidal"], seed=0)
    encoding = sinusoidal_encoding(torch.arange(64), 96)
    added = model.method.embed(torch.zeros(1, 64, 96), torch.arange(64))
    close(added[0], 2**0.5 * encoding, atol=1e-6)
    assert added.square().mean().item() == pytest.approx(1, rel=1e-3)
    assert model.tokens.weight.square().mean().item() == pytest.approx(1, rel=0.02)


# --- tasks ---

MARK, FILLER = 16, 17


def draw(name, length, batch=300, *, part="train", seed=0):
    """Pairs of lists: inputs, targets."""
    generator = torch.Generator().manual_seed(seed)
    drawn = TASKS[name].sample(generator, batch, length, part=part)
    assert drawn.inputs.shape == drawn.targets.shape == (batch, length)
    assert drawn.inputs.max() < TASKS[name].vocabulary
    return list(zip(drawn.inputs.tolist(), drawn.targets.tolist(), strict=True))


def copied(line, *, backwards=False):
    half = line.index(MARK)
    targets = [IGNORED] * len(line)
    for i in range(half):
        targets[half + i] = line[half - 1 - i] if backwards else line[i]
    return targets


def at_the_end(answer):
    return lambda line: [IGNORED] * (len(line) - 1) + [answer(line)]


def last_marked(line):
    return [line[i + 1] for i in range(len(line)) if line[i] == MARK][-1]


def before_the_verb(line):
    return [line[i - 1] if token == MARK else IGNORED for i, token in enumerate(line)]


def values_of_known_keys(line):
    known, targets = {}, []
    for i, token in enumerate(line):
        targets.append(known.get(token, IGNORED) if i % 2 == 0 else IGNORED)
        if i % 2:
            known[line[i - 1]] = token
    return targets


def values_at_the_start(line):
    known = dict(zip(line[0:8:2], line[1:8:2], strict=True))
    return [IGNORED] * (len(line) - 4) + [known[key] for key in line[-4:]]


PLUS = 10


def added(line, plus, *, wide):
    """The sum by Python's own integers; the line's last sum digit is a target only."""
    first = line.index(plus)
    count = first // wide
    second = line[first + 1 : first + 1 + first]
    assert line[2 * first + 1] == plus
    if wide == 2:  # the places are counted in the same way in all three numbers
        hints = line[0:first:2]
        assert hints == list(range(hints[0], hints[0] + count)) == second[0::2]
        assert hints == line[2 * first + 2 : 3 * first + 2 : 2]
        assert min(hints) >= 12
    a, b = (
        sum(digit * 10**i for i, digit in enumerate(number[wide - 1 :: wide]))
        for number in (line[:first], second)
    )
    digits = [(a + b) // 10**i % 10 for i in range(count)]
    targets = [IGNORED] * len(line)
    start = 2 * first + wide
    for i, digit in enumerate(digits):
        targets[start + wide * i] = digit
        if i < count - 1:
            assert line[start + wide * i + 1] == digit
    return targets


SOLVERS = {
    "copy": copied,
    "reverse": lambda line: copied(line, backwards=True),
    "induction": values_of_known_keys,
    "first": at_the_end(lambda line: line[line.index(MARK) + 1]),
    "last": at_the_end(last_marked),
    "who": before_the_verb,
    "passkey": at_the_end(lambda line: line[line.index(MARK) + 1]),
    "recall": values_at_the_start,
    "addition": lambda line: added(line, PLUS, wide=1),
    "addition-hints": lambda line: added(line, PLUS, wide=2),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("length", [12, 31])
@pytest.mark.parametrize("name", SOLVERS)
def test_targets_are_what_a_solver_finds_in_the_inputs(name, length, part):
    for line, targets in draw(name, length, part=part):
        assert targets == SOLVERS[name](line)


def as_text(numbers):
    return "".join("\n" if number == 95 else chr(32 + number) for number in numbers)


@pytest.fixture(scope="module")
def parts():
    return corpus.parts()


def as_numbers(text):
    """Token numbers by another way: the place in the alphabet."""
    alphabet = "".join(map(chr, range(32, 127))) + "\n"
    return [alphabet.index(character) for character in text]


def test_the_novel_is_the_one_that_was_hashed():
    assert hashlib.sha256(corpus.novel().encode()).hexdigest() == corpus.SHA256
    assert corpus.encode(corpus.novel()[:5000]) == as_numbers(corpus.novel()[:5000])
    assert corpus.encode("é~\t") == [corpus.UNKNOWN, corpus.UNKNOWN - 2, corpus.UNKNOWN]


def test_no_32_characters_stand_in_two_parts(parts):
    def strings(text, length):
        return {text[i : i + length] for i in range(len(text) - length + 1)}

    for one, other in combinations(parts.values(), 2):
        assert len(strings(one, 32)) > 50_000
        assert not strings(one, 32) & strings(other, 32)
        assert strings(one, 16) & strings(other, 16)  # shorter ones do


def test_the_parts_are_the_novels_paragraphs_in_order(parts):
    novel = corpus.novel().split("\n")
    split = [part.split("\n") for part in parts.values()]
    rest = iter(novel)
    assert all(paragraph in rest for part in split for paragraph in part)  # in order
    assert len(novel) - sum(map(len, split)) == 15
    assert "\n".join(novel).endswith("\n" + parts["test"])
    total = len(corpus.novel())
    for name, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert len(parts[name]) / total == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("length", [16, 31])
def test_text_asks_for_the_next_character(parts, length, part):
    for line, targets in draw("text", length, part=part):
        assert targets[:-1] == line[1:]
        assert as_text([*line, targets[-1]]) in parts[part]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("length", [16, 31])
def test_masked_text_asks_for_what_is_hidden(parts, length, part):
    hidden = TASKS["masked-text"].vocabulary - 1
    count = 0
    for line, targets in draw("masked-text", length, part=part):
        assert [token == hidden for token in line] == [target != IGNORED for target in targets]
        filled = [b if a == hidden else a for a, b in zip(line, targets, strict=True)]
        assert as_text(filled) in parts[part]
        count += line.count(hidden)
    assert count / (300 * length) == pytest.approx(0.15, abs=0.02)


@pytest.mark.parametrize("name", ["text", "masked-text"])
def test_held_out_text_asks_for_the_same_characters_at_every_length(name):
    for part in ("validation", "test"):
        tails = [
            [(line[-16:], targets[-16:]) for line, targets in draw(name, length, part=part)]
            for length in (16, 40, 300)
        ]
        assert tails[0] == tails[1] == tails[2]


@pytest.mark.parametrize("name", ["text", "masked-text"])
def test_training_windows_end_anywhere_and_those_of_tests_evenly(name, monkeypatch):
    parts = {
        "train": torch.arange(40),
        "validation": torch.arange(60),
        "test": torch.arange(50, 95),
    }
    monkeypatch.setattr(tasks_module, "_numbers", lambda: parts)
    monkeypatch.setattr(tasks_module, "LONGEST", 20)
    hidden = TASKS["masked-text"].hidden
    after = name == "text"  # then the last character of a window is a target only
    for part, ends in (("train", range(17, 41)), ("validation", range(20, 61, 8))):
        lines = draw(name, 16, batch=2000 if part == "train" else 6, part=part)
        windows = {
            tuple(t if i == hidden else i for i, t in zip(*pair, strict=True)) for pair in lines
        }
        assert windows == {tuple(range(end - 16 - after, end - after)) for end in ends}
    (line, _), *_ = draw("text", 16, batch=5, part="test")
    assert line == list(range(50 + 20 - 17, 50 + 20 - 1))


def test_the_1024_windows_of_a_test_score_each_character_once():
    for part in ("validation", "test"):
        text = tasks_module._numbers()[part]
        ends = torch.linspace(tasks_module.LONGEST, len(text), 1024, dtype=torch.float64).long()
        assert ends.diff().min() >= tasks_module.TAIL


def test_a_reader_who_counts_is_scored_by_hand():
    one, two = counted_losses("abracadabra", "xxabr", [4, 5], 2)[1:]
    (zero, *_) = counted_losses("abracadabra", "xxabr", [4, 5], 0)[0]
    share_b = (2 + 5 / 97) / (11 + 5)  # "b" is 2 of 11 characters, of 5 kinds
    assert zero == pytest.approx(-math.log((2 + 5 * (1 / 97)) / 16))
    after_a = (2 + 3 * share_b) / (4 + 3)  # after "a": b twice, c and d
    assert one[0] == pytest.approx(-math.log(after_a))
    assert two[0] == one[0]  # "xa" never occurred
    share_r = (2 + 5 / 97) / 16
    after_b = (2 + 1 * share_r) / (2 + 1)
    assert two[1] == pytest.approx(-math.log((2 + 1 * after_b) / (2 + 1)))
    for ends in ([2], [6]):
        with pytest.raises(ValueError, match="ends must be from 3 to 5"):
            counted_losses("abracadabra", "xxabr", ends, 2)


def test_what_a_reader_who_counts_says_sums_to_one():
    every = [*corpus.PRINTABLE, "é"]  # one for all that are not printable
    for back in range(4):
        nats = [counted_losses("abracadabra", f"xxab{c}", [5], 3)[back][0] for c in every]
        assert sum(math.exp(-x) for x in nats) == pytest.approx(1)


def test_chance_and_goal_are_counts_scored_on_the_very_characters_of_the_test(parts):
    train_text = parts["train"]
    singles, pairs, firsts = (
        Counter(train_text),
        Counter(pairwise(train_text)),
        Counter(train_text[:-1]),
    )
    chance = goal = 0.0
    lines = draw("text", 16, batch=1024, part="test")
    for line, targets in lines:
        for before, after in zip(as_text(line), as_text(targets), strict=True):
            share = (singles[after] + 1) / (len(train_text) + 97)
            chance -= math.log(share)
            goal -= math.log((pairs[before, after] + share) / (firsts[before] + 1))
    for name in ("text", "masked-text"):
        assert TASKS[name].chance == pytest.approx(chance / 1024 / 16, rel=1e-4)
        assert TASKS[name].goal == pytest.approx(goal / 1024 / 16, rel=1e-4)
        assert TASKS[name].reached(goal / 1024 / 16 - 0.1)
        assert not TASKS[name].reached(TASKS[name].chance)


@pytest.mark.parametrize("name", SOLVERS)
def test_chance_is_the_score_of_a_guess(name):
    rng, right, asked = random.Random(0), 0, 0
    for line, targets in draw(name, 12, batch=2000):
        if name == "who":
            guesses = [token for token in line if token < MARK]
        elif name in ("first", "last"):
            guesses = [line[i + 1] for i, token in enumerate(line) if token == MARK]
        else:
            guesses = {
                "induction": range(8, 16),
                "recall": line[1:8:2],
                "addition": range(10),
                "addition-hints": range(10),
            }.get(name, range(16))
        answers = [target for target in targets if target != IGNORED]
        right += sum(rng.choice(guesses) == answer for answer in answers)
        asked += len(answers)
    assert right / asked == pytest.approx(TASKS[name].chance, abs=0.04 if asked < 9999 else 0.01)
    assert TASKS[name].reached(0.95)
    assert not TASKS[name].reached(0.94)


@pytest.mark.parametrize("length", [13, 40])
@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "who"])
def test_what_a_task_needs_begins_where_the_answer_is_found(name, length):
    drawn = TASKS[name].sample(torch.Generator().manual_seed(0), 200, length)
    for line, targets, needs in zip(*(x.tolist() for x in vars(drawn).values()), strict=True):
        for at, (target, need) in enumerate(zip(targets, needs, strict=True)):
            if target == IGNORED:
                assert need == 0
                continue
            begin = at - need + 1
            if name in ("copy", "reverse"):
                assert line[begin] == target
            elif name in ("first", "last", "passkey"):
                assert (line[begin], line[begin + 1]) == (MARK, target)
            elif name in ("induction", "recall"):
                assert (line[begin], line[begin + 1]) == (line[at], target)
                assert name == "recall" or line[at] not in line[begin + 2 : at : 2]
            else:  # the digit of the first number that is added here
                digit = sum(target != IGNORED for target in targets[:at])
                assert begin == (2 * digit + 1 if "hints" in name else digit)


def test_a_reader_of_the_last_tokens_scores_between_chance_and_one():
    passkey = TASKS["passkey"]
    scores = [statistics.mean(passkey.within(64, tokens)) for tokens in (2, 16, 33, 64)]
    assert scores == sorted(scores)
    assert (scores[0], scores[-1]) == (pytest.approx(1 / 16), 1)
    assert scores[2] == pytest.approx(0.5 + 0.5 / 16, abs=0.05)  # half of the keys are near
    for name in ("first", "last"):
        assert set(TASKS[name].within(64, 2)) == {1 / 16}  # no mark is seen
    recall = TASKS["recall"]
    assert set(recall.within(32, 32)) == {1}
    assert set(recall.within(128, 32)) == {0.125}  # keys recede with the length
    with pytest.raises(ValueError, match="task must say what it needs, got Who"):
        TASKS["who"].within(8, 4)


@pytest.mark.parametrize(("name", "length", "tokens"), [("passkey", 40, 17), ("induction", 21, 6)])
def test_the_reader_of_the_last_tokens_is_scored_on_the_sequences_of_the_test(
    name, length, tokens, monkeypatch
):
    task = TASKS[name]

    class Reader(Transformer):
        """Looks for the same token in what it may see, and says what followed the last one."""

        def forward(self, lines):
            logits = torch.zeros(*lines.shape, task.vocabulary)
            for line, scores in zip(lines.tolist(), logits, strict=True):
                for at, token in enumerate(line):
                    wanted = MARK if name == "passkey" else token
                    near = range(max(0, at - tokens + 1), at)
                    found = [place for place in near if line[place] == wanted]
                    answer = line[found[-1] + 1] if found else FILLER  # which is always wrong
                    scores[at, answer] = 1.0
            return logits

    sizes = Config(task.vocabulary, True, length, dim=4, num_heads=2, num_layers=1)
    reader = Reader(sizes, Method, seed=0)
    monkeypatch.setattr(type(task), "chance", 0.0)
    result = evaluate(reader, task, [length], sequences=300)[length]
    assert task.within(length, tokens, sequences=300) == pytest.approx(result["each"])
    assert 0.1 < result["accuracy"] < 0.9


@pytest.mark.parametrize("drawn", [False, True])
def test_lengths_are_drawn_from_the_shortest_to_the_training_length(drawn):
    seen = Recorded("recall")
    recipe = Recipe(steps=60, batch=1)
    train("none", seen, train_length=15, recipe=recipe, size=TINY, drawn=drawn)
    assert {length for _, length, _ in seen.asked} == ({12, 13, 14, 15} if drawn else {15})


@pytest.mark.parametrize("task", TASKS)
def test_nothing_is_drawn_but_from_the_seed(task):
    """Batches and lengths are the same whatever somebody else draws."""
    one, other = Recorded(task), Recorded(task)
    for seed, recorded in enumerate((one, other)):
        torch.manual_seed(seed)
        few = {"recipe": Recipe(5, 2), "size": TINY, "drawn": TASKS[task].measure != "tail_loss"}
        train("none", recorded, train_length=20, **few)
    assert one.asked == other.asked
    assert one.gave_as(other) == [True] * 5


def test_seeds_of_weights_and_of_data_are_apart():
    one, other, both = Recorded("text"), Recorded("text"), Recorded("text")
    few = {"train_length": 8, "recipe": Recipe(2, 3, 1e-9), "size": TINY}
    a = train("none", one, seed=1, data_seed=2, **few)
    b = train("none", other, seed=3, data_seed=2, **few)
    c = train("none", both, seed=1, **few)
    assert one.gave_as(other) == [True] * 2
    assert one.gave_as(both) == [False] * 2
    close(a.tokens.weight.detach(), c.tokens.weight.detach(), atol=1e-6)
    assert (a.tokens.weight - b.tokens.weight).abs().max() > 0.1


def test_the_last_seed_of_a_training_is_the_one_before_those_of_held_out_data():
    last = min(training_module.SEEDS.values()) - 1
    for seed in (0, last):
        training_module.require_seed("seed", seed)
    for seed in (-1, last + 1):
        with pytest.raises(ValueError, match=f"seed must be from 0 to {last}, got {seed}"):
            training_module.require_seed("seed", seed)


def test_who_has_another_answer_when_the_same_words_are_reversed():
    starts = set()
    for line, targets in draw("who", 9, batch=2000):
        verb = line.index(MARK)
        bitten, biter = line[verb + 1], line[verb - 1]
        assert sorted(line) == sorted([biter, MARK, bitten, *6 * [FILLER]])
        assert max(biter, bitten) < MARK
        assert before_the_verb(line[::-1])[8 - verb] == bitten != biter == targets[verb]
        starts.add(verb - 1)
    assert starts == set(range(7))


@pytest.mark.parametrize(("name", "at"), [("first", 0), ("last", 1)])
def test_both_marks_stand_before_different_symbols(name, at):
    places = set()
    for line, targets in draw(name, 10, batch=2000):
        marks = [i for i, token in enumerate(line) if token == MARK]
        symbols = [line[i + 1] for i in marks]
        assert len(set(symbols)) == 2
        assert max(symbols) < MARK
        assert targets[-1] == symbols[at]
        assert line.index(FILLER) == 9
        places.add(tuple(marks))
    assert places == {(i, j) for i in range(0, 8, 2) for j in range(i + 2, 8, 2)}


def test_in_induction_a_key_keeps_its_value_within_a_line_and_only_there():
    values = {}
    for line, targets in draw("induction", 9, batch=2000):
        assert set(line[0::2]) <= set(range(8))
        assert set(line[1::2]) <= set(range(8, 16))
        pairs = set(zip(line[0::2], line[1::2], strict=False))
        assert len(pairs) == len({key for key, _ in pairs})
        assert line[-1] == line[0]
        assert targets[-1] == line[1]
        for key, value in pairs:
            values.setdefault(key, set()).add(value)
    assert all(values[key] == set(range(8, 16)) for key in range(8))


SHORTEST = {"text": 1, "masked-text": 1, "copy": 2, "reverse": 2, "induction": 3, "who": 3}
SHORTEST |= {"passkey": 4, "recall": 12, "addition": 4, "addition-hints": 7}


@every_task
@pytest.mark.parametrize("part", PARTS)
def test_a_length_that_is_too_small_is_refused(name, part):
    shortest = SHORTEST.get(name, 6)
    draw(name, shortest, part=part)
    for length in (shortest - 1, -3):
        message = f"length must be at least {shortest}, got {length}"
        with pytest.raises(ValueError, match=message):
            draw(name, length, part=part)


@pytest.mark.parametrize(("name", "longest"), [("text", 4095), ("addition-hints", 768)])
def test_a_length_that_is_too_large_is_refused(name, longest):
    draw(name, longest, batch=1, part="test")
    with pytest.raises(ValueError, match=f"length must be .*, got {longest + 1}"):
        draw(name, longest + 1, batch=1, part="test")


def test_a_line_without_hints_enough_is_refused_by_the_longest_there_is():
    with pytest.raises(ValueError, match="length must be at most 768, got 769"):
        TASKS["addition-hints"].require_length(769)


def test_a_part_that_does_not_exist_is_refused():
    for name in TASKS:
        with pytest.raises(ValueError, match=r"part must be one of .*, got 'held out'"):
            draw(name, 16, part="held out")


# --- training ---


def small(method="rope", task="text", *, length=8, seed=0, recipe=FEW):
    return train(method, task, train_length=length, seed=seed, recipe=recipe, size=TINY)


@pytest.mark.parametrize(("method", "task"), [("learned", "text"), ("shaw", "masked-text")])
def test_training_again_gives_the_same_weights_and_another_seed_others(method, task):
    weights = small(method, task).state_dict()
    torch.manual_seed(7)
    assert equal(small(method, task).state_dict(), weights)
    other = small(method, task, seed=1).state_dict()
    assert not any(torch.equal(weights[name], other[name]) for name in weights)


@pytest.mark.parametrize(("method", "knob"), [("rope", "base"), ("t5", "gain"), ("alibi", "steep")])
def test_a_knob_reaches_the_method_that_is_trained(method, knob):
    few = {"train_length": 8, "recipe": FEW, "size": TINY}
    default = getattr(train(method, "text", **few).method, knob)
    for value in (2.5, 4.0):
        model = train(method, "text", knobs={knob: value}, **few)
        assert getattr(model.method, knob) == value != default


@pytest.mark.parametrize("task", ["text", "who"])
def test_sixty_steps_lower_the_loss(task):
    model = small(task=task, length=16, recipe=Recipe(60, 32, 1e-2))
    untrained = Transformer(model.config, METHODS["rope"], seed=0)
    before, after = (evaluate(m, task, [16], sequences=64)[16]["loss"] for m in (untrained, model))
    assert after < 0.75 * before
    assert not model.training


@pytest.mark.parametrize("part", ["test", "validation"])
def test_a_model_is_tested_on_the_part_that_is_asked_for(part):
    recorded, model = Recorded("text"), small()
    evaluate(model, recorded, [8], sequences=4, part=part)
    assert [found for _, _, found in recorded.asked] == [part]
    whole = evaluate(model, "text", [8], sequences=4, part=part)[8]["each"]
    other = evaluate(model, "text", [8], sequences=4, part=("validation", "test")[part != "test"])
    assert whole != other[8]["each"]


def test_a_class_of_the_readers_own_works_as_a_method():
    class Nearest(Method):
        def bias(self, relative):
            return -relative.abs().expand(self.config.num_heads, -1, -1) / 2

    near, none = small(Nearest), small("none")
    assert isinstance(near.method, Nearest)
    results = [evaluate(model, "text", [8], sequences=4)[8]["loss"] for model in (near, none)]
    assert results[0] != results[1]


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (f"method must be one of {', '.join(METHODS)}, got 'rotary'", {"method": "rotary"}),
        (f"task must be one of {', '.join(TASKS)}, got 'sort'", {"task": "sort"}),
        ("seed must be from 0 to 9999, got -1", {"seed": -1}),
        ("seed must be from 0 to 9999, got 10000", {"seed": 10_000}),
        ("data_seed must be from 0 to 9999, got 10000", {"data_seed": 10_000}),
        ("train_length must be positive, got 0", {"train_length": 0}),
        ("length must be at least 6, got 5", {"task": "first", "train_length": 5}),
        ("device must be there, got 'cuda' without CUDA", {"device": "cuda"}),
        ("device must be one of ('cpu', 'cuda'), got 'tpu'", {"device": "tpu"}),
        ("dim must be a multiple of 2 num_heads = 8, got 12", {"size": {"dim": 12}}),
    ],
)
def test_train_refuses_by_name_rule_and_value(message, options, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=re.escape(message)):
        train(**{"method": "none", "task": "who", "recipe": FEW, "size": TINY, **options})


BAD_RATES = (0.0, -1.0, math.nan, math.inf)


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("steps", n) for n in (0, -5)), ("batch", 0), *(("rate", x) for x in BAD_RATES)],
)
def test_a_recipe_of_nothing_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be positive and finite, got {value}"):
        Recipe(**{name: value})


@pytest.mark.parametrize(("steps", "rate"), [(100, 3e-3), (37, 1.0)])
def test_the_learning_rate_rises_to_its_peak_and_falls(steps, rate):
    recipe = Recipe(steps, rate=rate)
    rates = [recipe.rate_at(step) for step in range(steps)]
    peak = steps // 10 - 1
    assert rates[0] == pytest.approx(rate / (peak + 1))
    assert rates[peak] == max(rates) == pytest.approx(rate)
    assert rates[: peak + 1] == sorted(set(rates[: peak + 1]))
    assert rates[peak + 1 :] == sorted(set(rates[peak + 1 :]), reverse=True)
    assert rates[-1] == pytest.approx(0.05 * rate, rel=0.1)
    middle = (len(rates) + peak + 1) // 2
    assert rates[middle] == pytest.approx(0.525 * rate, rel=0.1)


def test_each_step_is_taken_at_its_learning_rate(monkeypatch):
    taken, step = [], torch.optim.AdamW.step

    def spy(self, *arguments):
        taken.append(self.param_groups[0]["lr"])
        return step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    recipe = Recipe(steps=30, batch=1)
    small("none", "who", recipe=recipe)
    assert taken == [recipe.rate_at(number) for number in range(30)]


# --- what a GPU does: compiled, and in bfloat16 ---


# The compiler asks tensors between two graphs for their gradient, and hides this warning itself.
quiet = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


@pytest.fixture
def as_on_a_gpu(monkeypatch, annotations_off):
    """Let `train` do on the CPU what it does on a GPU, with the compiler's front half alone."""
    runner, compile_ = training_module._runner, torch.compile
    compiled = Counter()

    def backend(graph, inputs):
        compiled["graphs"] += 1
        return graph

    monkeypatch.setattr(torch, "compile", lambda model: compile_(model, backend=backend))
    monkeypatch.setattr(training_module, "_runner", lambda model, _: runner(model, "cuda"))
    precision = torch.autocast("cpu", dtype=torch.bfloat16)
    monkeypatch.setattr(training_module, "_precision", lambda _: precision)
    yield compiled
    torch.compiler.reset()


@quiet
def test_one_model_after_another_is_compiled(as_on_a_gpu, monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "fail_on_recompile_limit_hit", True)
    for name in [*METHODS, "none"]:
        as_on_a_gpu.clear()
        size = {**TINY, "num_layers": 2}
        train(name, "text", train_length=8, recipe=Recipe(steps=1, batch=4), size=size)
        assert as_on_a_gpu.total(), name


@quiet
@pytest.mark.parametrize("task", ["text", "masked-text"])
@every_method
def test_compiled_and_in_bfloat16_a_step_is_the_same(as_on_a_gpu, name, task):
    """One step of plain descent, so that the weights tell the gradients."""

    def step():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.optim, "AdamW", lambda weights, **_: torch.optim.SGD(weights, 1.0))
            patch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_: None)
            recipe = Recipe(steps=1, batch=4, rate=1.0)
            return train(name, task, train_length=24, recipe=recipe, size=TINY)

    fast = step()
    start = Transformer(fast.config, METHODS[name], seed=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_module, "_runner", lambda model, _: model)
        patch.setattr(training_module, "_precision", lambda _: contextlib.nullcontext())
        exact = step()
    weights = zip(*(model.parameters() for model in (start, fast, exact)), strict=True)
    moves = [(fast - start, exact - start) for start, fast, exact in weights]
    off = sum((fast - exact).square().sum() for fast, exact in moves)
    assert as_on_a_gpu.total()
    assert 0 < off < 0.03**2 * sum(exact.square().sum() for _, exact in moves)


def test_peak_memory_is_what_a_call_adds_to_what_is_held(monkeypatch):
    with pytest.raises(ValueError, match="without CUDA"):
        peak_memory(lambda: None)
    memory = {"held": 100, "peak": 900}  # the peak is that of an earlier call
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: memory["held"])
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: memory["peak"])
    monkeypatch.setattr(
        torch.cuda, "reset_peak_memory_stats", lambda: memory.update(peak=memory["held"])
    )
    assert peak_memory(lambda: memory.update(peak=350)) == 250
    assert peak_memory(lambda: memory.update(peak=120)) == 20


# --- evaluation ---


def test_a_learned_table_cannot_run_beyond_its_end_and_says_why():
    results = evaluate(small("learned", "who"), "who", [8, 9, 16], sequences=4)
    assert results[8]["loss"] > 0
    assert results[9] == "positions must be below 8, got 8"
    assert results[16] == "positions must be below 8, got 15"


def mean(values):
    return pytest.approx(sum(values) / len(values), abs=6e-5) if values else None


@pytest.mark.parametrize("tokens_at_a_time", [1, 50, 9999])
@pytest.mark.parametrize("task", ["text", "copy", "masked-text"])
def test_results_are_averages_over_what_was_asked(task, tokens_at_a_time, monkeypatch):
    monkeypatch.setattr(training_module, "_TEST_TOKENS", tokens_at_a_time)
    recorded = Recorded(task)
    model = small("alibi", recorded)
    results = evaluate(model, recorded, [20], sequences=7)[20]
    losses, hits = [], []
    batch = recorded.gave[-1]
    with torch.no_grad():
        for inputs, targets in zip(batch.inputs, batch.targets.tolist(), strict=True):
            rows = model(inputs[None])[0].double().tolist()
            for place, (row, target) in enumerate(zip(rows, targets, strict=True)):
                if target != IGNORED:
                    total = math.log(sum(map(math.exp, row)))
                    losses.append((place, total - row[target]))
                    hits.append(row[target] == max(row))
    assert results["loss"] == mean([loss for _, loss in losses])
    assert results["accuracy"] == mean(hits)
    assert results["tail_loss"] == mean([loss for place, loss in losses if place >= 4])
    blocks = [mean([loss for place, loss in losses if place // 8 == b]) for b in range(3)]
    assert results["by_block"] == blocks
    assert len(results["each"]) == 7
    asked = [target != IGNORED for target in batch.targets[0, -16:].tolist()]
    if all(asked):  # then all sequences count alike
        assert mean(results["each"]) == results["tail_loss"]
    assert (None in blocks) == (task == "copy")


def test_two_models_are_tested_on_the_same_held_out_sequences():
    one, other = Recorded("induction"), Recorded("induction")
    for task, method, seed in ((one, "none", 0), (other, "t5", 5)):
        model = small(method, "induction", seed=seed)
        evaluate(model, task, [8, 32], sequences=9)
        assert task.asked == [(9, 8, "test"), (9, 32, "test")]
    assert one.gave_as(other) == [True, True]


def test_what_is_longer_than_fits_is_tested_one_by_one(monkeypatch):
    monkeypatch.setattr(training_module, "_TEST_TOKENS", 10)
    model, seen = small(), []
    model.register_forward_hook(lambda _, given, __: seen.append(len(given[0])))
    evaluate(model, "text", [20], sequences=3)
    assert seen == [1, 1, 1]


def test_evaluate_refuses_an_unknown_task_and_no_sequences():
    model = small("none", "who")
    with pytest.raises(ValueError, match=r"task must be one of text, .*, got 'sort'"):
        evaluate(model, "sort", [8])
    with pytest.raises(ValueError, match="sequences must be positive, got 0"):
        evaluate(model, "who", [8], sequences=0)


# --- provenance ---


def test_functions_are_timed_in_turn_and_the_first_two_rounds_do_not_count(monkeypatch):
    called, clock = [], itertools.count()
    ticking = types.SimpleNamespace(perf_counter=lambda: next(clock) / 1e3)
    monkeypatch.setattr(sys.modules["posenc.lab.provenance"], "time", ticking)

    def slow():
        called.append("slow")
        if called.count("slow") > 2:  # not while it warms up
            next(clock)

    times = device_times({"quick": lambda: called.append("quick"), "slow": slow}, device="cpu")
    assert times == pytest.approx({"quick": 1.0, "slow": 2.0})  # milliseconds
    assert Counter(called) == {"quick": 22, "slow": 22}
    for pair in zip(called[::2], called[1::2], strict=True):
        assert sorted(pair) == ["quick", "slow"]
    assert len(set(called[::2])) == 2  # who begins changes


@pytest.mark.parametrize("rounds", [0, -1])
def test_timing_nothing_is_refused(rounds):
    with pytest.raises(ValueError, match=f"rounds must be positive, got {rounds}"):
        device_times({"one": int}, device="cpu", rounds=rounds)
    with pytest.raises(ValueError, match="functions must not be empty"):
        device_times({}, device="cpu")


@pytest.mark.parametrize("rounds", [1, 3])
def test_as_many_rounds_as_asked_are_timed(rounds):
    called = []
    device_times({"one": lambda: called.append(1)}, device="cpu", rounds=rounds)
    assert len(called) == rounds + 2


def test_a_result_says_where_it_comes_from():
    device, version, commit_, date = provenance().split(", ")
    assert device == device_name("cuda" if torch.cuda.is_available() else "cpu")
    assert version == f"torch {torch.__version__}"
    assert commit_ == f"commit {commit()}"
    assert datetime.date.fromisoformat(date) <= datetime.date.today()

"""The papers' formulas, literally: NumPy float64, one loop an index, slow on purpose."""

import math

import numpy as np


def inverse_frequencies(dim, base=10_000.0):
    """Vaswani et al. (2017), section 3.5."""
    return np.array([1 / base ** (2 * i / dim) for i in range(dim // 2)])


def sinusoidal_interleaved(positions, dim, base=10_000.0):
    """Vaswani et al. (2017), section 3.5."""
    table = np.zeros((len(positions), dim))
    for row, p in enumerate(positions):
        for i in range(dim // 2):
            table[row, 2 * i] = math.sin(p / base ** (2 * i / dim))
            table[row, 2 * i + 1] = math.cos(p / base ** (2 * i / dim))
    return table


def sinusoidal_half(positions, dim, base=10_000.0):
    """The same numbers: first every sine, then every cosine."""
    table = np.zeros((len(positions), dim))
    for row, p in enumerate(positions):
        for i in range(dim // 2):
            table[row, i] = math.sin(p / base ** (2 * i / dim))
            table[row, dim // 2 + i] = math.cos(p / base ** (2 * i / dim))
    return table


def tensor2tensor(positions, dim, base=10_000.0):
    """tensor2tensor's get_timing_signal_1d: timescales from 1 to base, both included."""
    half = dim // 2
    log_increment = math.log(base) / max(half - 1, 1)
    table = np.zeros((len(positions), dim))
    for row, p in enumerate(positions):
        for i in range(half):
            table[row, i] = math.sin(p * math.exp(-i * log_increment))
            table[row, half + i] = math.cos(p * math.exp(-i * log_increment))
    return table


def shift_matrix(offset, dim, base=10_000.0):
    """From sin(a + b) and cos(a + b): PE(p + offset) = PE(p) @ M."""
    matrix = np.zeros((dim, dim))
    for i in range(dim // 2):
        turn = offset / base ** (2 * i / dim)
        matrix[2 * i, 2 * i] = math.cos(turn)
        matrix[2 * i + 1, 2 * i] = math.sin(turn)
        matrix[2 * i, 2 * i + 1] = -math.sin(turn)
        matrix[2 * i + 1, 2 * i + 1] = math.cos(turn)
    return matrix


def rope_interleaved(x, positions, rotary_dim, base=10_000.0):
    """Su et al. (2021), equation 34: channels 2i and 2i + 1 turn by p / base^(2i/d)."""
    turned = x.copy()
    for row, p in enumerate(positions):
        for i in range(rotary_dim // 2):
            turn = p / base ** (2 * i / rotary_dim)
            a, b = x[row, 2 * i], x[row, 2 * i + 1]
            turned[row, 2 * i] = a * math.cos(turn) - b * math.sin(turn)
            turned[row, 2 * i + 1] = b * math.cos(turn) + a * math.sin(turn)
    return turned


def rope_half(x, positions, rotary_dim, base=10_000.0):
    """The same turns, of channels i and i + d/2."""
    turned = x.copy()
    for row, p in enumerate(positions):
        for i in range(rotary_dim // 2):
            turn = p / base ** (2 * i / rotary_dim)
            a, b = x[row, i], x[row, i + rotary_dim // 2]
            turned[row, i] = a * math.cos(turn) - b * math.sin(turn)
            turned[row, i + rotary_dim // 2] = b * math.cos(turn) + a * math.sin(turn)
    return turned


def relative_positions(query_positions, key_positions):
    """Key position minus query position."""
    return np.array([[j - i for j in key_positions] for i in query_positions])


def causal_mask(query_positions, key_positions):
    """A query sees itself and what came before it."""
    return np.array([[j <= i for j in key_positions] for i in query_positions])


def softmax(scores, mask):
    """Over the allowed keys of each query."""
    weights = np.zeros(scores.shape)
    for i, row in enumerate(scores):
        allowed = [j for j in range(len(row)) if mask[i, j]]
        total = sum(math.exp(row[j] - max(row[allowed])) for j in allowed)
        for j in allowed:
            weights[i, j] = math.exp(row[j] - max(row[allowed])) / total
    return weights


def attention(q, k, v, bias=None, mask=None, scale=None):
    """Vaswani et al. (2017), equation 1, for one head, with a bias and a mask."""
    scores = np.zeros((len(q), len(k)))
    for i in range(len(q)):
        for j in range(len(k)):
            scores[i, j] = sum(q[i, c] * k[j, c] for c in range(q.shape[1]))
            scores[i, j] *= 1 / math.sqrt(q.shape[1]) if scale is None else scale
            scores[i, j] += 0 if bias is None else bias[i, j]
    weights = softmax(scores, np.ones(scores.shape, dtype=bool) if mask is None else mask)
    return weighted_sum(weights, v), weights


def weighted_sum(weights, v):
    """One output a query: the values, weighted."""
    output = np.zeros((len(weights), v.shape[1]))
    for i in range(len(weights)):
        for j in range(len(v)):
            output[i] += weights[i, j] * v[j]
    return output


def shaw(q, k, v, query_positions, key_positions, max_distance, a_key, a_value=None, mask=None):
    """Shaw et al. (2018), equations 3 to 5; row 0 of a table is relative position -max_distance."""
    scores = np.zeros((len(q), len(k)))
    row = {}
    for i, p in enumerate(query_positions):
        for j, s in enumerate(key_positions):
            row[i, j] = max(-max_distance, min(max_distance, s - p)) + max_distance
            scores[i, j] = q[i] @ (k[j] + a_key[row[i, j]]) / math.sqrt(q.shape[1])
    weights = softmax(scores, np.ones(scores.shape, dtype=bool) if mask is None else mask)
    output = weighted_sum(weights, v)
    for i, j in row:
        output[i] += 0 if a_value is None else weights[i, j] * a_value[row[i, j]]
    return output, weights


def transformer_xl_scores(q, k, query_positions, key_positions, u, v, w_r, base=10_000.0):
    """Dai et al. (2019), section 3.3: terms a, b, c and d of one head, over sqrt(d)."""
    scores = np.zeros((len(q), len(k)))
    for i, p in enumerate(query_positions):
        for j, s in enumerate(key_positions):
            r = w_r @ sinusoidal_half([p - s], w_r.shape[1], base)[0]
            scores[i, j] = (q[i] @ k[j] + q[i] @ r + u @ k[j] + v @ r) / math.sqrt(q.shape[1])
    return scores


def t5_bucket(relative, num_buckets, max_distance, bidirectional):
    """Raffel et al. (2020), section 2.1 and the authors' code, for one relative position."""
    start, distance = 0, max(0, -relative)
    if bidirectional:
        num_buckets //= 2
        start, distance = (num_buckets if relative > 0 else 0), abs(relative)
    exact = num_buckets // 2
    if distance < exact:
        return start + distance
    growth = math.log(distance / exact) / math.log(max_distance / exact)
    return start + min(num_buckets - 1, exact + math.floor(growth * (num_buckets - exact)))


def alibi_slopes(num_heads):
    """Press et al. (2022), section 3, and the authors' get_slopes."""
    if math.log2(num_heads).is_integer():
        start = 2 ** (-8 / num_heads)
        return [start * start**h for h in range(num_heads)]
    power = 2 ** math.floor(math.log2(num_heads))
    return alibi_slopes(power) + alibi_slopes(2 * power)[0::2][: num_heads - power]


def alibi_bias(slopes, query_positions, key_positions):
    """Press et al. (2022), section 3: minus slope times distance."""
    bias = np.zeros((len(slopes), len(query_positions), len(key_positions)))
    for h, slope in enumerate(slopes):
        for i, p in enumerate(query_positions):
            for j, s in enumerate(key_positions):
                bias[h, i, j] = -slope * abs(p - s)
    return bias


def ntk_scaling(inv_freq, factor):
    """bloc97 (2023): the base grows so that the last frequency is divided by the factor."""
    half = len(inv_freq)
    return [inv_freq[i] * factor ** (-2 * i / (2 * half - 2)) for i in range(half)]


def yarn_by_rotations(inv_freq, factor, trained_length, slow, fast):
    """Peng et al. (2023), YaRN, equations 17 and 18: gamma is a ramp in rotations."""
    scaled = []
    for frequency in inv_freq:
        wavelength = 2 * math.pi / frequency
        r = trained_length / wavelength
        gamma = 0 if r < slow else 1 if r > fast else (r - slow) / (fast - slow)
        scaled.append((1 - gamma) * frequency / factor + gamma * frequency)
    return scaled


def yarn_by_dimensions(dim, base, factor, trained_length, slow, fast, truncate):
    """jquesnelle/yarn, LlamaYaRNScaledRotaryEmbedding.py; `truncate` as in transformers."""

    def correction_dim(rotations):
        return dim * math.log(trained_length / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = correction_dim(fast), correction_dim(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    high += 0.001 if low == high else 0
    scaled = []
    for i in range(dim // 2):
        mask = 1 - min(1, max(0, (i - low) / (high - low)))
        frequency = base ** (-2 * i / dim)
        scaled.append(frequency / factor * (1 - mask) + frequency * mask)
    return scaled


def llama3_scaling(inv_freq, factor, trained_length, low_freq_factor, high_freq_factor):
    """meta-llama/llama-models, models/llama3/model.py, apply_scaling."""
    scaled = []
    for frequency in inv_freq:
        wavelength = 2 * math.pi / frequency
        if wavelength < trained_length / high_freq_factor:
            scaled.append(frequency)
        elif wavelength > trained_length / low_freq_factor:
            scaled.append(frequency / factor)
        else:
            smooth = trained_length / wavelength - low_freq_factor
            smooth /= high_freq_factor - low_freq_factor
            scaled.append((1 - smooth) * frequency / factor + smooth * frequency)
    return scaled


def proportional(dim, base, share):
    """Barbero et al. (2024), section 6, as Gemma 4 has it: the first pairs of the whole head."""
    turning = math.floor(share * dim / 2)
    return [base ** (-2 * i / dim) if i < turning else 0.0 for i in range(dim // 2)]


def axial_angles(positions, inv_freq, axis):
    """One coordinate, one frequency, one angle."""
    angles = np.zeros((len(positions), len(inv_freq)))
    for row, coordinates in enumerate(positions):
        for i, frequency in enumerate(inv_freq):
            angles[row, i] = coordinates[axis[i]] * frequency
    return angles


def layer_norm(x, gain, shift):
    """A row with mean 0 and variance 1 (plus 1e-5), stretched and shifted by channel."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    return [
        g * (a - mean) / math.sqrt(variance + 1e-5) + s
        for a, g, s in zip(x, gain, shift, strict=True)
    ]


def linear(x, weight, shift=None):
    """weight [out, in] times a row."""
    out = [sum(w * value for w, value in zip(row, x, strict=True)) for row in weight]
    return out if shift is None else [a + s for a, s in zip(out, shift, strict=True)]


def transformer(tokens, weights, num_layers, num_heads, causal):
    """The laboratory's model without positions, one number at a time; weights by name.

    x + attention(norm(x)), then x + perceptron(norm(x)), layer by layer; a norm and a linear map
    at the end. Attention: heads side by side, scores divided by sqrt(head_dim).
    """
    x = [weights["tokens.weight"][token] for token in tokens]
    dim = len(x[0])
    d = dim // num_heads
    for number in range(num_layers):
        own = {
            name.removeprefix(f"layers.{number}."): weight
            for name, weight in weights.items()
            if name.startswith(f"layers.{number}.")
        }
        normed = [
            layer_norm(row, own["norm_attention.weight"], own["norm_attention.bias"]) for row in x
        ]
        qkv = [linear(row, own["qkv.weight"]) for row in normed]
        seen = [[0.0] * dim for _ in x]
        for h in range(num_heads):
            q, k, v = (
                [row[part * dim + h * d : part * dim + (h + 1) * d] for row in qkv]
                for part in range(3)
            )
            for i in range(len(x)):
                keys = range(i + 1 if causal else len(x))
                scores = [
                    sum(a * b for a, b in zip(q[i], k[j], strict=True)) / math.sqrt(d) for j in keys
                ]
                total = sum(math.exp(score) for score in scores)
                for j, score in zip(keys, scores, strict=True):
                    for c in range(d):
                        seen[i][h * d + c] += math.exp(score) / total * v[j][c]
        x = [
            [a + b for a, b in zip(row, linear(mixed, own["join.weight"]), strict=True)]
            for row, mixed in zip(x, seen, strict=True)
        ]
        for i, row in enumerate(x):
            inner = linear(
                layer_norm(row, own["norm_perceptron.weight"], own["norm_perceptron.bias"]),
                own["perceptron.0.weight"],
                own["perceptron.0.bias"],
            )
            inner = [a / 2 * (1 + math.erf(a / math.sqrt(2))) for a in inner]  # GELU
            outer = linear(inner, own["perceptron.2.weight"], own["perceptron.2.bias"])
            x[i] = [a + b for a, b in zip(row, outer, strict=True)]
    return [
        linear(
            layer_norm(row, weights["norm.weight"], weights["norm.bias"]),
            weights["out.weight"],
            weights["out.bias"],
        )
        for row in x
    ]


def adamw(weights, gradients, rates, *, betas=(0.9, 0.98), decay=0.01, most=1.0, eps=1e-8):
    """AdamW (Loshchilov & Hutter 2019, algorithm 2) with clipped gradients, step by step.

    weights: one flat list. gradients: weights -> their gradient. rates: one a step.
    """
    first, second = [0.0] * len(weights), [0.0] * len(weights)
    for step, rate in enumerate(rates, start=1):
        gradient = gradients(weights)
        norm = math.sqrt(sum(g * g for g in gradient))
        gradient = [g * min(1.0, most / (norm + 1e-6)) for g in gradient]
        for i, g in enumerate(gradient):
            first[i] = betas[0] * first[i] + (1 - betas[0]) * g
            second[i] = betas[1] * second[i] + (1 - betas[1]) * g * g
            m = first[i] / (1 - betas[0] ** step)
            v = second[i] / (1 - betas[1] ** step)
            weights[i] -= rate * (m / (math.sqrt(v) + eps) + decay * weights[i])
    return weights

"""Rotary position embedding: turn each pair of channels by an angle proportional to position."""

from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from posenc._validate import require_choice, require_even, require_float, require_tensor
from posenc.frequencies import phasors

Pairing = Literal["interleaved", "half"]

_BLOCK = 262_144  # elements rotated at a time, so that a float32 copy of them stays in the cache
_FEW = 8_192  # elements whose work is less than that of starting a kernel


def rotate(
    x: Float[Tensor, "*axes d"],
    rotation: Shaped[Tensor, "*turns half"],
    *,
    pairing: Pairing,
    pairing_out: Pairing | None = None,
    rotary_dim: int | None = None,
    axis: int = -2,
) -> Float[Tensor, "*axes d"]:
    """Rotate queries or keys (RoPE): pair i of row p turns by the angle rotation[p, i].

    (x_a, x_b) -> (x_a cos t - x_b sin t,  x_a sin t + x_b cos t),     t = rotation[p, i]

    which is one complex product, (x_a + 1j x_b) exp(1j t). With t = position * inv_freq the
    score q.k depends on the two positions only through key position - query position.

    Args:
        x: queries or keys; the last axis holds the channels of one head.
        rotation: angles in radians (float64, from `angles`), or their `phasors`, computed once
            and reused for queries, keys and layers; `phasors` with a gain lengthen the pairs
            too. Either [n, d/2], one row for each of the n positions, or with as many axes as
            x, each as long as that of x or 1: for x of shape [b, h, n, d], [b, 1, n, d/2] gives
            sequences positions of their own.
        pairing: which channels form pair i. "interleaved": 2i and 2i + 1 (the paper, Meta's
            Llama, GPT-J); "half": i and i + rotary_dim/2 (transformers' Llama, GPT-NeoX).
            Weights trained with one give nonsense with the other.
        pairing_out: which channels pair i is written to, `pairing` by default. DeepSeek-V3's code
            reads "interleaved" and writes "half"; scores are the same if queries and keys agree.
        rotary_dim: rotate only the first `rotary_dim` channels (partial rotary); all by default.
        axis: the axis of x along which positions run: -2 for [b, h, n, d], -3 for [b, n, h, d].

    Returns:
        The rotated tensor, in the shape and dtype of x. bf16 and fp16 are rotated in float32
        and rounded once.

    Raises:
        TypeError: if x is not floating-point, or rotation is neither float64 nor complex, or
            x is float64 and rotation has less precision.
        ValueError: if the number of channels or rotary_dim is odd, rotary_dim exceeds the
            channels, rotation has the wrong number of pairs or does not fit the axes of x, a
            pairing is unknown, or axis is not an axis of rows.

    Example:
        >>> x = torch.tensor([[1.0, 0.0, 0.0, 1.0]])
        >>> quarter = torch.full((1, 2), torch.pi / 2, dtype=torch.float64)
        >>> rotate(x, quarter, pairing="interleaved").round()
        tensor([[ 0.,  1., -1.,  0.]])

    Paper: Su et al. (2021), RoFormer, equations 15 and 34.
    """
    pairing_out = pairing if pairing_out is None else pairing_out
    require_choice("pairing", pairing, ("interleaved", "half"))
    require_choice("pairing_out", pairing_out, ("interleaved", "half"))
    require_float("x", x)
    require_tensor("rotation", rotation)
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    _require_width(x, width, rotary_dim)
    z = _as_phasors(_align(rotation, x, width, axis), x.dtype)
    part = x if width == x.shape[-1] else x[..., :width]
    if pairing_out != pairing:
        part = _regroup(part, pairing)
    turned = _turn(part, z, pairing_out)
    return turned if part.shape == x.shape else torch.cat((turned, x[..., width:]), dim=-1)


def _require_width(x: Tensor, width: int, rotary_dim: int | None) -> None:
    if rotary_dim is None:
        require_even("the number of channels of x", width)
    else:
        require_even("rotary_dim", rotary_dim)
        if rotary_dim > x.shape[-1]:
            raise ValueError(
                f"rotary_dim must not exceed the {x.shape[-1]} channels of x, got {rotary_dim}"
            )


def _align(rotation: Tensor, x: Tensor, width: int, axis: int) -> Tensor:
    """The rotation with as many axes as x. What a shape means never depends on its numbers."""
    *turns, pairs = rotation.shape or ("a single number",)
    if pairs != width // 2:
        raise ValueError(
            f"rotation must hold {width // 2} pairs to rotate {width} channels, got {pairs}"
        )
    *rows, _ = x.shape
    if len(turns) == 1 and rows:
        if not -x.ndim <= axis < x.ndim or axis in (-1, x.ndim - 1):
            raise ValueError(f"axis must be one of the {len(rows)} axes of rows of x, got {axis}")
        if turns[0] == x.shape[axis]:
            shape = [1] * x.ndim
            shape[axis], shape[-1] = turns[0], pairs
            return rotation.view(shape)
    elif len(turns) == len(rows) and all(t in (1, n) for t, n in zip(turns, rows, strict=True)):
        return rotation
    or_one = f" or ({x.shape[axis]},)" if len(rows) > 1 else ""
    raise ValueError(
        f"rotation must have axes like the {tuple(rows)} of x{or_one}, got {tuple(turns)}"
    )


def _regroup(x: Tensor, pairing: str) -> Tensor:
    """The channels in the order of the other pairing."""
    pairs = x.unflatten(-1, (-1, 2) if pairing == "interleaved" else (2, -1))
    return pairs.transpose(-1, -2).flatten(-2)


def _as_phasors(rotation: Tensor, dtype: torch.dtype) -> Tensor:
    wanted = torch.complex128 if dtype == torch.float64 else torch.complex64
    if rotation.dtype == wanted:
        return rotation
    if rotation.dtype == torch.float64:
        return phasors(rotation, dtype=wanted)
    if not rotation.is_complex():
        raise TypeError(f"rotation must be float64 angles or complex, got {rotation.dtype}")
    if wanted == torch.complex128:
        raise TypeError(f"rotation must be complex128 to rotate float64, got {rotation.dtype}")
    return rotation.to(wanted)


def _turn(x: Tensor, z: Tensor, pairing: str) -> Tensor:
    """One complex product, in the way that is fastest here.

    Interleaved pairs lie in memory as complex numbers do, and the product is all there is to it.
    Halves do not: to bring them together and apart again costs more than the product, so they
    take real cosines and sines, x cos + (-b, a) sin, most of it in place. Only where starting
    a kernel costs more than its work is the complex product faster, since it starts fewer. Large
    tensors go by blocks that stay in the cache; a gradient is the turn back.
    """
    if torch.compiler.is_compiling() or z.requires_grad:
        return _turn_real(x, z, pairing)
    half, low = pairing == "half", x.dtype in (torch.bfloat16, torch.float16)
    if (x.numel() > _BLOCK and (half or low)) or (half and x.requires_grad):
        return _TurnInBlocks.apply(x, z, pairing)
    wide = x.float() if low else x
    if half and x.numel() > _FEW:
        turned = _turn_halves(wide, *_cosines_and_sines(z))
    else:
        turned = _turn_complex(wide, z, pairing)
    return turned.to(x.dtype) if low else turned


def _turn_complex(x: Tensor, z: Tensor, pairing: str) -> Tensor:
    if pairing == "interleaved":
        return torch.view_as_real(_pairs(x) * z).flatten(-2)
    turned = torch.complex(*x.chunk(2, dim=-1)) * z
    return torch.view_as_real(turned).transpose(-1, -2).flatten(-2)


def _pairs(x: Tensor) -> Tensor:
    """Neighbouring channels as complex numbers, a view if x is contiguous."""
    return torch.view_as_complex(x.contiguous().view(*x.shape[:-1], x.shape[-1] // 2, 2))


def _turn_halves(x: Tensor, cos_twice: Tensor, sin: Tensor, out: Tensor | None = None) -> Tensor:
    """x cos + (-b, a) sin for x = (a, b): a product as wide as x, and two in place."""
    half = sin.shape[-1]
    turned = torch.mul(x, cos_twice, out=out)
    turned[..., :half].addcmul_(x[..., half:], sin, value=-1)
    turned[..., half:].addcmul_(x[..., :half], sin)
    return turned


def _cosines_and_sines(z: Tensor) -> tuple[Tensor, Tensor]:
    """Every cosine twice, for both halves, and every sine, as neighbours in memory."""
    cos, sin = z.real.contiguous(), z.imag.contiguous()
    return torch.cat((cos, cos), dim=-1), sin


def _turn_real(x: Tensor, z: Tensor, pairing: str) -> Tensor:
    """The same product spelled out: for compilers, and for gradients of the rotation too.

    Cosines and sines come apart first: reading every other number of z is what a compiler does
    one by one, at every use, and two tables of their own let it take many at once.
    """
    cos, sin = torch.stack((z.real, z.imag)).unbind()
    wide = x.to(cos.dtype)
    a, b = wide.chunk(2, -1) if pairing == "half" else wide.unflatten(-1, (-1, 2)).unbind(-1)
    turned = (a * cos - b * sin).to(x.dtype), (a * sin + b * cos).to(x.dtype)
    return torch.cat(turned, -1) if pairing == "half" else torch.stack(turned, -1).flatten(-2)


class _TurnInBlocks(torch.autograd.Function):
    """Block by block, low precision in float32. The gradient is the turn back."""

    @staticmethod
    def forward(x: Tensor, z: Tensor, pairing: str) -> Tensor:
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        tables = _cosines_and_sines(z) if pairing == "half" else (z,)
        for rows, target, *turns in _blocks(x, out, *tables):
            if pairing == "interleaved":
                wide = rows.to(torch.float32, memory_format=torch.contiguous_format)
                _pairs(wide).mul_(*turns)  # in place: the block is a copy already
                target.copy_(wide)
            elif x.dtype == turns[0].dtype:
                _turn_halves(rows, *turns, out=target)
            else:
                target.copy_(_turn_halves(rows.to(turns[0].dtype), *turns))
        return out

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:
        x, z, ctx.pairing = inputs
        ctx.save_for_backward(z)
        ctx.save_for_forward(x, z)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        (z,) = ctx.saved_tensors
        return _TurnInBlocks.apply(grad, z.conj().resolve_conj(), ctx.pairing), None, None

    @staticmethod
    def jvp(ctx, x_moves: Tensor | None, z_moves: Tensor | None, _) -> Tensor:
        x, z = ctx.saved_tensors
        moved = [(x_moves, z), (x, z_moves)]  # the product rule
        return sum(_TurnInBlocks.apply(*two, ctx.pairing) for two in moved if None not in two)

    @staticmethod
    def vmap(info, in_dims: tuple, x: Tensor, z: Tensor, pairing: str) -> tuple[Tensor, int]:
        x, z = (
            t.unsqueeze(0) if dim is None else t.movedim(dim, 0)
            for t, dim in zip((x, z), in_dims, strict=False)
        )
        x = x.expand(info.batch_size, *x.shape[1:])
        return _TurnInBlocks.apply(x, z, pairing), 0


def _blocks(x: Tensor, out: Tensor, *tables: Tensor):
    """Matching pieces along the longest axis of rows; on other devices than a CPU, one piece."""
    if x.device.type != "cpu" or x.numel() <= _BLOCK or x.ndim == 1:
        return ((x, out, *tables),)
    axis = max(range(x.ndim - 1), key=x.shape.__getitem__)
    step = max(1, _BLOCK * x.shape[axis] // x.numel())
    tables = (t.expand(*t.shape[:axis], x.shape[axis], *t.shape[axis + 1 :]) for t in tables)
    return zip(*(t.split(step, axis) for t in (x, out, *tables)), strict=True)

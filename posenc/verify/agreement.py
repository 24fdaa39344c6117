"""What `compare` says: whether two things agree, where not, why, and what it did not look at.

One rule stands here for everything that is compared: nothing agrees that has not been looked at.
Whoever makes an `Agreement` lists what was compared; without such a list, or with something that
yours gives and that could not be compared, it does not agree, even though no difference was seen.
"""

from dataclasses import dataclass

SHOWN = (0, 1, 7, 127, 1009, 8000, 100_003)


@dataclass(frozen=True)
class Agreement:
    """What `compare` found; printing it shows everything.

    Args:
        agrees: whether no difference exceeds its tolerance, and all that yours gives was compared.
        positions: where both were tried.
        differences: the largest at each, relative to the largest entry of the vectors.
        tolerances: what rounding explains at each.
        begins: the first position that differs by more, None if none does.
        scores_agree: whether q.k agrees nevertheless, as when channels are only reordered.
        mistake: the known mistake that yours looks like, "" if none.
        hint: what was done, and where to look.
        notes: what was noticed besides.
        limit: of what "agree" is said, "" if of everything that was tried.
        not_compared: what else there is, and was not tried.
        compared: what was held against the reference, in words.
        undecided: what yours gives and could not be compared: with any of it, nothing agrees.
    """

    agrees: bool
    positions: tuple[int, ...] = ()
    differences: tuple[float, ...] = ()
    tolerances: tuple[float, ...] = ()
    begins: int | None = None
    scores_agree: bool | None = None
    mistake: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()
    limit: str = ""
    not_compared: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def __post_init__(self):
        if self.agrees and not self.compared:
            object.__setattr__(self, "undecided", (*self.undecided, "anything: there is nothing"))
        if self.agrees and self.undecided:
            object.__setattr__(self, "agrees", False)

    def __str__(self) -> str:
        lines = [f"agree{self.limit}" if self.agrees else "differ"]
        if self.unseen:
            lines = ["undecided: no difference was seen, but not everything could be compared"]
        rows = list(zip(self.positions, self.differences, self.tolerances, strict=True))
        shown = [row for row in rows if row[0] in (*SHOWN, self.begins)]
        if shown:
            lines.append("  position   difference   rounding explains")
        lines += [
            f"  {p:>8}   {d:>10.2g}   {t:>10.2g}{'   <- more' if d > t else ''}"
            for p, d, t in shown
        ]
        if self.begins is not None:
            lines.append(f"  begins to differ at position {self.begins}")
        if self.scores_agree and not self.agrees:
            lines.append("  scores q.k agree: one offset for all, or channels in another order")
        if self.mistake:
            lines.append(f"  looks like: {self.mistake}\n    {self.hint}")
        elif not self.agrees and not self.scores_agree and not self.unseen:
            lines.append("  looks like no mistake that is known here; identify() shows both apart")
        lines += [f"  {note}" for note in self.notes]
        lines += [f"  could not be compared: {text}" for text in self.undecided]
        lines += [f"  compared: {'; '.join(self.compared)}"] * bool(self.agrees or self.unseen)
        return "\n".join(lines + [f"  not compared: {text}" for text in self.not_compared])

    @property
    def unseen(self) -> bool:
        """Whether it fails for want of a look alone: no difference was seen."""
        return bool(self.undecided) and self.begins is None and not self.mistake

    __repr__ = __str__

    def as_dict(self) -> dict[str, object]:
        """Everything as JSON can hold it."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in self.__dict__.items()}

"""One line of what bench found, as a record and in a table; medians, percentiles and ratios of paired rounds."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

HEAD = f"{'ratio':>7}  {'target':<16} {'met':<4} {'per s':>8} {'p50 ms':>8} {'p99 ms':>8}  what"
PERCENT = 100


class Row:
    """``what`` was measured: ``per_s``, ``p50_ms``, ``p99_ms``, or a ``ratio``; beside it the ``target`` and whether it is ``met`` (None: no target)."""

    __slots__ = ("met", "p50_ms", "p99_ms", "part", "per_s", "ratio", "target", "what")

    def __init__(
        self,
        part: str,
        what: str,
        *,
        times: Sequence[float] = (),
        per_s: float | None = None,
        ratio: float | None = None,
        target: str = "",
        meets: Callable[[Row], bool] | None = None,
    ) -> None:
        self.part, self.what, self.target = part, what, target or None
        self.per_s = per_s if per_s is None else round(per_s)
        self.ratio = ratio if ratio is None else round(ratio, 2)
        self.p50_ms = round(percentile(times, 50), 3) if times else None
        self.p99_ms = round(percentile(times, 99), 3) if times else None
        self.met = meets(self) if meets else None

    def record(self) -> dict[str, Any]:
        """As ``--json`` gives it; every field is always there."""
        return {name: getattr(self, name) for name in ("part", "what", "ratio", "target", "met", "per_s", "p50_ms", "p99_ms")}

    def line(self) -> str:
        """As a line of the table."""
        met = {None: "", True: "yes", False: "NO"}[self.met]
        per_s = f"{self.per_s:,}" if self.per_s is not None else ""
        times = [f"{one:.2f}" if one is not None else "" for one in (self.p50_ms, self.p99_ms)]
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else ""
        return f"{ratio:>7}  {self.target or '':<16} {met:<4} {per_s:>8} {times[0]:>8} {times[1]:>8}  {self.what}"


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many percent are not above; of a few values 99 % is the highest."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // PERCENT)]


def paired(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of each round: what disturbs the machine for a while disturbs both sides of a pair."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def at_least(part: str, what: str, ratio: float, bound: float) -> Row:
    """A ratio that should not be lower."""
    return Row(part, what, ratio=ratio, target=f">= {bound:g}", meets=lambda _: ratio >= bound)


def at_most(part: str, what: str, ratio: float, bound: float) -> Row:
    """A ratio that should not be higher."""
    return Row(part, what, ratio=ratio, target=f"<= {bound:g}", meets=lambda _: ratio <= bound)

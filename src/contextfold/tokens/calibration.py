"""Learn from what a provider billed how far our counts are off.

Two numbers for each model: a factor (its tokenizer against our count) and a fixed part (what it adds that we do not
see: a hidden system prompt, tool schemas). Values, not objects with a history: the same bills give the same calibration
on every machine. Learns slowly about the factor and quickly about the fixed part.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from contextfold.loggers import logger

_log = logger("tokens")

# Old bills fade: a conversation that changes its system prompt is right again after some thirty calls.
_MEMORY = 0.97
# How quickly the fixed part follows the newest bill.
_FOLLOW = 0.5
# Differences smaller than this share of the mean, or this many tokens, say little about the factor.
_SHARE, _TOKENS = 0.5, 5_000.0
_LEAST, _MOST = 0.4, 3.0
# A whole bill this close to our count is explained by the factor alone.
_PLAUSIBLE = (0.6, 1.5)

DRIFT = 0.20


class Calibration(Struct, frozen=True):
    """How one model's bills relate to our raw counts: billed = fixed + factor x raw."""

    model: str = ""
    factor: float = 1.0
    fixed: float = 0.0
    samples: int = 0
    # Running sums with fading memory: weight, means, and products of differences from them.
    weight: float = 0.0
    mean_raw: float = 0.0
    mean_billed: float = 0.0
    spread: float = 0.0
    together: float = 0.0

    @property
    def is_neutral(self) -> bool:
        """Whether nothing has been learned, so that counts are as they were counted."""
        return self.samples == 0

    def apply(self, raw: int) -> int:
        """Tokens the provider will bill for this raw count, rounded up. At least one for anything at all."""
        if not self.samples:
            return raw
        if raw <= 0:
            return 0
        return max(1, -int(-(self.fixed + self.factor * raw) // 1))

    def scaled(self, raw: int) -> int:
        """Tokens of a part of a request: by the factor alone."""
        return -int(-(self.factor * raw) // 1) if self.samples else raw

    def around(self, raw: int) -> int:
        """Tokens of system and tools, with whatever else bills hold that we do not see; never below nothing."""
        return max(0, self.scaled(raw) - int(-self.fixed // 1)) if self.samples else raw


def learn(calibration: Calibration, raw: int, billed: int) -> Calibration:
    """The calibration after one more bill. A bill of nothing teaches nothing."""
    if raw <= 0 or billed <= 0:
        return calibration
    weight = calibration.weight * _MEMORY + 1.0
    off_raw, off_billed = raw - calibration.mean_raw, billed - calibration.mean_billed
    mean_raw = calibration.mean_raw + off_raw / weight
    mean_billed = calibration.mean_billed + off_billed / weight
    spread = calibration.spread * _MEMORY + off_raw * (raw - mean_raw)
    together = calibration.together * _MEMORY + off_raw * (billed - mean_billed)
    # The slope of the bills, held near what is plausible while they are few or alike.
    ratio = mean_billed / mean_raw
    expected = ratio if _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1] else 1.0
    doubt = min(_TOKENS, _SHARE * mean_raw) ** 2
    factor = min(_MOST, max(_LEAST, (together + doubt * expected) / (spread + doubt)))
    residue = billed - factor * raw
    fixed = residue if not calibration.samples else calibration.fixed + _FOLLOW * (residue - calibration.fixed)
    return Calibration(
        calibration.model, factor, fixed, calibration.samples + 1, weight, mean_raw, mean_billed, spread, together
    )


class Drift(Struct, frozen=True):
    """An estimate that was off by more than a fifth: both numbers, and no words of the conversation."""

    model: str
    estimated: int
    billed: int

    @property
    def ratio(self) -> float:
        """How many tokens were billed for each that was estimated."""
        return self.billed / self.estimated

    def __str__(self) -> str:
        return f"{self.model}: estimated {self.estimated:,} tokens, billed {self.billed:,} ({self.ratio:.2f} times)"


def drift(model: str, estimated: int, billed: int) -> Drift | None:
    """What to report when a bill is more than 20 % from the estimate it was sent with."""
    if estimated <= 0 or billed <= 0 or abs(billed - estimated) <= DRIFT * billed:
        return None
    return Drift(model, estimated, billed)


class Watch(Struct, frozen=True):
    """Which models were already reported, so that drift is logged once for each, not at every call."""

    reported: frozenset[str] = frozenset()

    def seen(self, model: str, estimated: int, billed: int) -> tuple[Watch, Drift | None]:
        """The watch after one more bill, and the drift when it is the first of its model."""
        found = drift(model, estimated, billed)
        if found is None or model in self.reported:
            return self, None
        _log.warning("Counting drifts: %s. Later bills of this model correct it.", found)
        return replace(self, reported=self.reported | {model}), found

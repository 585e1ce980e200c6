"""Put a large tool output aside and show its two ends: at the door, and later for what came in before.

The middle is one recall away, under a name made from the content, so that the same output has the same name. A file for
the agent's own tools is written by the caller; here it only gets its name. Where a request does not fit, smaller
outputs go too, the largest first and with shorter previews: also the newest ones, which nothing else may touch. In a
small size that somebody asked for, `Squeeze` does the same to results that must stay; it never acts by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain import Block, Detail, Message, StandIn, ToolResult, View, ViewItem
from contextfold.errors import BadConfiguration
from contextfold.summaries import offload_text, said

from .plan import Plan, PlannedFold, Situation
from .survey import Result, Survey, results_in

PREVIEW = 2_000  # characters (seed 002)
LEAST_PREVIEW = 200  # what is still worth showing of an output when room is short
NAME_LENGTH = 16  # hexadecimal digits of the content's hash


class Offload(Struct, frozen=True):
    """Results of more than `over` tokens show `preview` characters, half from each end.

    `artifacts` is the directory, as the agent's tools see it, in which the caller writes what was put aside.
    """

    over: int = 40_000
    preview: int = PREVIEW
    artifacts: str = ""

    name = "offload"

    def __post_init__(self) -> None:
        if self.over < 1:
            raise BadConfiguration(f"Outputs over {self.over} tokens cannot be told apart. Use at least 1.")
        if not LEAST_PREVIEW <= self.preview <= PREVIEW:
            raise BadConfiguration(
                f"A preview has {LEAST_PREVIEW} to {PREVIEW:,} characters, not {self.preview}. Choose one of these."
            )

    def plan_for(self, item: ViewItem, message: Message, situation: Situation) -> Plan:
        """At the door: the large results of one message that has just been appended."""
        folds = [
            fold
            for index, block in enumerate(message.blocks)
            if isinstance(block, ToolResult) and not any(part.block == index for part in item.folded)
            if (tokens := situation.weigh(item, index)) > situation.raw(self.over)
            if (fold := self._aside(item.seq, index, block, tokens, self.preview, situation)) is not None
        ]
        return Plan(tuple(folds)) if folds else Plan.nothing()

    def plan(self, view: View, situation: Situation) -> Plan:
        """Large results anywhere in the view; where the window forces it, shorter previews and smaller results."""
        survey = Survey(view)
        results = [result for result in results_in(survey, situation) if result.place not in survey.pinned]
        large = [result for result in results if result.tokens > situation.raw(self.over)]
        folds = self._all_aside(survey, large, self.preview, situation)
        if situation.is_forced and _saved(folds) < situation.surplus:
            folds = self.squeezed(survey, results, situation) or folds
        return Plan(tuple(folds)) if folds else Plan.nothing()

    def squeezed(self, survey: Survey, results: Sequence[Result], situation: Situation) -> list[PlannedFold]:
        """As few results as it takes, the largest first; if all are not enough, all again with shorter previews."""
        largest = sorted(results, key=lambda result: (-result.tokens, result.place, result.block))
        preview, folds = self.preview, list[PlannedFold]()
        while preview >= LEAST_PREVIEW:
            folds = self._all_aside(survey, largest, preview, situation, situation.surplus)
            if _saved(folds) >= situation.surplus:
                break
            preview //= 2
        return folds

    def _all_aside(
        self, survey: Survey, results: Sequence[Result], preview: int, situation: Situation, enough: int | None = None
    ) -> list[PlannedFold]:
        folds: list[PlannedFold] = []
        saved = 0
        for result in results:
            if enough is not None and saved >= enough:
                break
            block = survey.message(result.place).blocks[result.block]
            fold = self._aside(result.seq, result.block, block, result.tokens, preview, situation)
            if fold is not None:
                folds.append(fold)
                saved += _saved([fold])
        return folds

    def _aside(
        self, seq: int, index: int, block: Block, tokens: int, preview: int, situation: Situation
    ) -> PlannedFold | None:
        """The fold of one result; None where its preview would not be smaller."""
        output = content_of(block)
        name = artifact_name(output)
        path = f"{self.artifacts.rstrip('/')}/{name}" if self.artifacts else None
        head, tail = _ends(output, preview)
        text = offload_text(
            head, tail, tokens=tokens, digest_name=name, seq=seq, path=path, language=situation.language
        )
        saved = tokens - situation.count(text)
        if saved <= 0:
            return None
        details: dict[str, Detail] = {"artifact": name, "tokens": tokens, "saved": saved}
        return PlannedFold("offload", lambda *_: StandIn(blocks=(text,)), blocks=((seq, index),), details=details)


def content_of(result: Block) -> str:
    """What a tool answered, as text: this is what the artifact holds and its name is made from."""
    inner = result.blocks if isinstance(result, ToolResult) else (result,)
    return "\n".join(part for block in inner if (part := said(block, "en")))


def artifact_name(content: str) -> str:
    """The same content, the same name."""
    return f"{sha256(content.encode('utf-8', 'backslashreplace')).hexdigest()[:NAME_LENGTH]}.txt"


def _ends(output: str, preview: int) -> tuple[str, str]:
    """A short output whole, the two halves for the text to cut, or two ends already short."""
    if len(output) <= preview:
        return output, ""
    if preview == PREVIEW:
        return output[: len(output) // 2], output[len(output) // 2 :]
    return output[: preview // 2], output[-(preview // 2) :]


def _saved(folds: Sequence[PlannedFold]) -> int:
    return sum(saved for fold in folds if isinstance(saved := fold.details["saved"], int))


# -- a small size that somebody asked for -----------------------------------------------------------------------------

SHARE = 8  # what must stay may take one part in so many of the size


class Squeeze(Struct, frozen=True):
    """Puts the largest results among what must stay aside, until that takes a small part of the size asked for."""

    offload: Offload = field(default_factory=lambda: Offload(over=1))
    leaves_small_sizes: bool = False  # to a digest, which says more in them than the ends of outputs

    name = "squeeze"

    def plan(self, view: View, situation: Situation) -> Plan:
        """The largest results among what must stay; nothing unless somebody asked for a size."""
        if situation.trigger != "explicit":
            return Plan.nothing()
        if self.leaves_small_sizes and situation.asks_for_a_small_size and not view.open_calls:
            return Plan.nothing()
        survey = Survey(view)
        staying = view.tokens() - sum(atom.tokens for atom in survey.loose)
        surplus = staying - situation.raw(situation.goal - situation.budget.fixed) // SHARE
        results = [one for one in results_in(survey, situation) if one.place in survey.fixed - survey.pinned]
        if surplus <= 0 or not results:
            return Plan.nothing()
        goal = situation.used - int(surplus * situation.factor)
        folds = self.offload.squeezed(survey, results, replace(situation, goal=goal))
        return Plan(tuple(folds)) if folds else Plan.nothing()

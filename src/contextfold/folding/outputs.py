"""Fold outputs of tools away: old ones in rare batches that pay, large ones but for their two ends.

Clearing leaves the calls, so the model knows what it did; each placeholder names the tool, its arguments and how to
read the result again. Pictures, documents and reasoning of turns that are over go with them. Recent results are
protected by tokens and by number, errors and answers of people always. It never touches what the model has not answered
yet, nor anything pinned.

A large output is put aside at the door, and later what came in before. The middle is one recall away, under a name made
from the content, so that the same output has the same name. A file for the agent's own tools is written by the caller;
here it only gets its name. Where a request does not fit, smaller outputs go too, the largest first and with shorter
previews: also the newest ones, which nothing else may touch. In a small size that somebody asked for, `Squeeze` does
the same to results that must stay; it never acts by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain import Block, BlockKind, Detail, Message, StandIn, ToolResult, View, ViewItem, tool_key
from contextfold.errors import BadConfiguration
from contextfold.summaries import PREVIEW, Refusal, cleared_block_text, cleared_text, offload_text, said

from .economics import CLEARING
from .plan import Plan, PlannedFold, Result, Situation, Survey, arguments_of, results_in

# Seed 002's list.
COMPACTABLE = frozenset({"bash", "read_file", "write_file", "edit_file", "glob", "grep", "list_dir", "notebook_edit"})

# Kinds whose results are instructions or decisions rather than findings: answers of people, skills, plans.
# By the first name of each kind: the table of tools knows the others.
EXEMPT = frozenset({"ask_user", "exit_plan_mode", "skill", "update_plan"})

SMALL = 200  # raw tokens of a result that stays even when the request does not fit

# Whether an edit pays: (raw tokens it saves on each later request, raw tokens to be cached anew, situation).
Pays: TypeAlias = Callable[[int, int, Situation], bool]

_Sort: TypeAlias = Literal["attachments", "results", "media", "reasoning"]
_MEDIA: dict[BlockKind, Literal["image", "document"]] = {"image": "image", "document": "document"}


class _Cleared(Struct, frozen=True):
    """One block that goes: where it stands, what stands in for it, and the raw tokens that saves."""

    sort: _Sort
    place: int
    seq: int
    block: int
    text: str
    saved: int


class Clear(Struct, frozen=True):
    """Old results of more than `least_tokens`, if all together save `least_saving` (a tenth of a small window).

    `tools` limits it to some tools, None means all; `exempt` ones always stay. Names are compared without case and
    separators. Where the request does not fit, only the last `keep_results`, errors, and small ones stay.
    """

    keep_tokens: int = 40_000
    keep_results: int = 3
    least_tokens: int = 1_000
    least_saving: int = 20_000
    tools: frozenset[str] | None = None
    exempt: frozenset[str] = EXEMPT
    keep_errors: bool = True
    media: bool = True
    reasoning: bool = True
    pays: Pays | None = None
    leaves_small_sizes: bool = False  # to a digest, which says more in them than placeholders

    name = "clear"

    def __post_init__(self) -> None:
        numbers = (self.keep_tokens, self.keep_results, self.least_tokens, self.least_saving)
        if min(numbers) < 0:
            raise BadConfiguration(f"Clearing cannot keep or save a negative amount: {numbers}. Use 0 or more.")

    def plan(self, view: View, situation: Situation) -> Plan:
        """Every old result that pays in one batch; where the window forces it, recent ones too."""
        if self.leaves_small_sizes and situation.asks_for_a_small_size:
            return Plan.nothing()
        survey = Survey(view)
        cleared = self.results_to_clear(survey, situation)
        if situation.is_forced and _saved(cleared) < situation.surplus:
            harder = replace(self, keep_tokens=0, least_tokens=min(self.least_tokens, SMALL))
            cleared = harder.results_to_clear(survey, situation)
        if not cleared:
            return Plan.nothing()
        if not self._is_worth(view, cleared, situation):
            return Plan.nothing(Refusal.UNPROFITABLE)
        texts, sorts = tuple(block.text for block in cleared), [block.sort for block in cleared]
        details: dict[str, Detail] = {sort: sorts.count(sort) for sort in dict.fromkeys(sorts)}
        details["saved"] = _saved(cleared)
        if "reasoning" in details:
            details["binding"] = situation.model.binding
        blocks = tuple((block.seq, block.block) for block in cleared)
        return Plan((PlannedFold("clear", lambda *_: StandIn(blocks=texts), blocks=blocks, details=details),))

    def _is_worth(self, view: View, cleared: Sequence[_Cleared], situation: Situation) -> bool:
        if situation.is_forced or situation.trigger in ("images", "bytes"):
            return True
        saved = _saved(cleared)
        if situation.trigger == CLEARING:  # found to pay already; what is found here must bear it out
            return saved * 2 >= situation.surplus
        if saved < situation.raw(min(self.least_saving, situation.budget.window // 10)):
            return False
        first = min(block.place for block in cleared)
        return self.pays is None or self.pays(saved, max(0, view.tokens(first) - saved), situation)

    def results_to_clear(self, survey: Survey, situation: Situation) -> list[_Cleared]:
        found = list(_superseded(survey, situation))
        for result in self._old(survey, situation):
            arguments = arguments_of(survey, result)
            text = cleared_text(result.tool, arguments, result.seq, result.tokens, situation.language)
            saved = result.tokens - situation.count(text)
            found.append(_Cleared("results", result.place, result.seq, result.block, text, saved))
        if self.media:
            found += _media(survey, situation)
        if self.reasoning:
            found += _reasoning(survey, situation)
        kept = survey.pinned
        return sorted(
            (block for block in found if block.saved > 0 and block.place not in kept),
            key=lambda block: (block.place, block.block),
        )

    # -- results ------------------------------------------------------------------------------------------------

    def _old(self, survey: Survey, situation: Situation) -> Iterator[Result]:
        """Results that have been answered, are not among the newest, and are of a kind and size to go."""
        results = [result for result in results_in(survey, situation) if result.place < survey.unseen]
        room = situation.raw(min(self.keep_tokens, situation.budget.limit // 4))
        least = situation.raw(self.least_tokens)
        for newer, result in enumerate(reversed(results)):
            room -= result.tokens
            if newer < self.keep_results or room >= 0:
                continue
            is_large = result.tokens > least or (situation.trigger == "images" and result.has_media)
            if is_large and self.takes(result.tool, is_error=result.shape.is_error):
                yield result

    @property
    def exempt_keys(self) -> frozenset[str]:
        """The exempt tools as names are compared."""
        return _keys(self.exempt)

    @property
    def tool_keys(self) -> frozenset[str] | None:
        """The tools it is limited to, as names are compared."""
        return None if self.tools is None else _keys(self.tools)

    def takes(self, tool: str, *, is_error: bool) -> bool:
        """Whether results of this tool may go."""
        key, tools = tool_key(tool), self.tool_keys
        if key in self.exempt_keys or (self.keep_errors and is_error):
            return False
        return tools is None or key in tools


@lru_cache(maxsize=64)
def _keys(tools: frozenset[str]) -> frozenset[str]:
    return frozenset(map(tool_key, tools))


def _superseded(survey: Survey, situation: Situation) -> Iterator[_Cleared]:
    """Attachments that a newer one about the same has replaced: the first to go."""
    newest: set[object] = set()
    for place in reversed(range(len(survey.items))):
        item = survey.items[place]
        subject = situation.subject(item) if item.kind == "attachment" else None
        if subject is None:
            continue
        if subject in newest and not item.folded:
            tokens = situation.weigh(item, 0)
            text = cleared_block_text("document", item.seq, tokens, situation.language)
            yield _Cleared("attachments", place, item.seq, 0, text, tokens - situation.count(text))
        newest.add(subject)


def _media(survey: Survey, situation: Situation) -> Iterator[_Cleared]:
    """Pictures and documents of turns that are over."""
    for place, item in enumerate(survey.items[: survey.turn]):
        folded = {part.block for part in item.folded}
        for index, block in enumerate(item.shape.blocks):
            kind = _MEDIA.get(block.kind)
            if kind is not None and index not in folded:
                tokens = situation.weigh(item, index)
                text = cleared_block_text(kind, item.seq, tokens, situation.language)
                yield _Cleared("media", place, item.seq, index, text, tokens - situation.count(text))


def _reasoning(survey: Survey, situation: Situation) -> Iterator[_Cleared]:
    """Reasoning of turns that are over, left out whole: no words of ours may pass for the model's.

    Beside a tool call it goes only where the model is known not to ask for it back (see `Model.binding`).
    """
    may_stand_alone = situation.model.binding in ("prefix", "account")
    for atom in survey.atoms:
        calls = any(survey.items[place].shape.calls for place in atom.places)
        if atom.stop > survey.turn or (calls and not may_stand_alone):
            continue
        for place in atom.places:
            item = survey.items[place]
            for index, block in enumerate(item.shape.blocks):
                if block.kind == "reasoning":  # a folded one is outlined as text
                    yield _Cleared("reasoning", place, item.seq, index, "", situation.weigh(item, index))


def _saved(cleared: Sequence[_Cleared]) -> int:
    return sum(block.saved for block in cleared)


# -- large outputs ----------------------------------------------------------------------------------------------------

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
        if situation.is_forced and _spared(folds) < situation.surplus:
            folds = self.squeezed(survey, results, situation) or folds
        return Plan(tuple(folds)) if folds else Plan.nothing()

    def squeezed(self, survey: Survey, results: Sequence[Result], situation: Situation) -> list[PlannedFold]:
        """As few results as it takes, the largest first; if all are not enough, all again with shorter previews."""
        largest = sorted(results, key=lambda result: (-result.tokens, result.place, result.block))
        preview, folds = self.preview, list[PlannedFold]()
        while preview >= LEAST_PREVIEW:
            folds = self._all_aside(survey, largest, preview, situation, situation.surplus)
            if _spared(folds) >= situation.surplus:
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
                saved += _spared([fold])
        return folds

    def _aside(
        self, seq: int, index: int, block: Block, tokens: int, preview: int, situation: Situation
    ) -> PlannedFold | None:
        """The fold of one result; None where its preview would not be smaller."""
        output = content_of(block)
        name = artifact_name(output)
        path = f"{self.artifacts.rstrip('/')}/{name}" if self.artifacts else None
        head, tail = output, ""  # a short output whole, two halves for the text to cut, or two ends already short
        if len(output) > preview:
            ends = len(output) // 2 if preview == PREVIEW else preview // 2
            head, tail = output[:ends], output[ends:] if preview == PREVIEW else output[-ends:]
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


def _spared(folds: Sequence[PlannedFold]) -> int:
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

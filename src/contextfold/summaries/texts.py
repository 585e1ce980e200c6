"""What models and people read of us: the functions that fill our sentences, and frames around what others wrote.

Every stand-in says what is folded and how to recall it. A value never becomes part of a template, is put on one line,
and is cut where a hostile or clumsy one would run on. Which language a thread gets is chosen once, when it is first
folded, so that the same history gives the same bytes.

A frame's tag carries a nonce, so that data stays data wherever it is shown. Hostile text may hold closing tags, role
markers, look-alike letters or invisible ones: none of them closes the frame, because the nonce is broken up wherever it
stands in the text, in any disguise, and the control tokens of chat templates are spelled so that no template reads
them. Nothing here judges what a text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Literal, TypeAlias

from contextfold.deferred import expression
from contextfold.domain import (
    Block,
    Document,
    Image,
    Language,
    Message,
    Opaque,
    Reasoning,
    SpokenBy,
    Text,
    ToolCall,
    ToolResult,
    UsersSide,
    read_as,
    users_side,
)

from .lines import MARK, whole
from .wordings import ENGLISH, JAPANESE, Wording

# -- frames -----------------------------------------------------------------------------------------------------------

NONCE_LENGTH = 12

_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]*"
)
_UNSEEN = expression(_INVISIBLE.removesuffix("*"))
_WIDE = expression("[\uff01-\uff5e]")
_CONTROL = expression(  # each begins with one of three letters: whatever stands between them is passed over quickly
    rf"[<＜\[](?:(?<=[<＜]){_INVISIBLE}(?=[|｜¦][^\s|｜¦<>＜＞]{{1,60}}[|｜¦]{_INVISIBLE}[>＞])"
    r"|(?<=<)(?=/?(?:start_of_turn|end_of_turn|bos|eos|pad|s)>|</?SYS>>)"
    r"|(?<=\[)(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]))"
)
_SAFE = {"<": "‹", "＜": "‹", "[": "⟦"}


def nonce_of(texts: Iterable[str]) -> str:
    """A nonce that none of the texts contains: made from all of them, so none of them can know it."""
    parts = list(texts)
    sealed = sha256(b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts))
    while True:
        nonce = sealed.hexdigest()[:NONCE_LENGTH]
        if not any(nonce in part for part in parts):
            return nonce
        sealed.update(b"again")


def frame(kind: str, body: str, nonce: str, attributes: Sequence[tuple[str, str]] = ()) -> str:
    """The body between an opening and a closing line that it cannot imitate."""
    named = ""
    for name, value in attributes:
        plain = " ".join(guarded(value, nonce).split())
        plain = plain.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
        named += f' {name}="{plain}"'
    return f"<{kind}-{nonce}{named}>\n{guarded(body, nonce)}\n</{kind}-{nonce}>"


def guarded(text: str, nonce: str) -> str:
    """The text with every spelling of the nonce broken up and no control token of a chat template left whole."""
    bare = plain = neutral(text)
    if not plain.isascii():
        bare = _WIDE.sub(lambda match: chr(ord(match.group()) - 0xFEE0), _UNSEEN.sub("", plain))
    if nonce.lower() not in bare.lower():  # in no spelling: the pattern takes 15 ms to make, and few texts need it
        return plain
    return _spellings(nonce).sub(lambda match: "·".join(match.group()), plain)


def neutral(text: str) -> str:
    """The text with the control tokens of chat templates spelled harmlessly; everything else stays as it is."""
    return _CONTROL.sub(lambda match: _SAFE[match.group()[0]], text)


@lru_cache(maxsize=64)
def _spellings(nonce: str) -> re.Pattern[str]:
    """The nonce in any case, in full-width letters, and with invisible characters in between."""
    spelled = []
    for letter in nonce:
        forms = {letter, letter.swapcase()}
        wide = "".join(chr(ord(form) + 0xFEE0) for form in forms if "!" <= form <= "~")
        spelled.append(f"[{re.escape(letter + letter.swapcase())}{wide}]")
    return re.compile(_INVISIBLE.join(spelled))


# -- stand-ins and notices --------------------------------------------------------------------------------------------

Ranges: TypeAlias = Iterable[tuple[int, int]]
ClearedKind: TypeAlias = Literal["image", "document", "reasoning"]

EXCERPT = 200  # characters of a tool call's arguments in a placeholder
PREVIEW = 2_000  # characters of an offloaded output, both ends together (seed 002)
_SHOWN_RANGES = 3

_WORDINGS: dict[Language, Wording] = {"en": ENGLISH, "ja": JAPANESE}


def wording(language: Language) -> Wording:
    """The templates of one language."""
    return _WORDINGS[language]


def summary_text(body: str, *, fold: int, ranges: Ranges, language: Language, nonce: str = "") -> str:
    """A summary as the model sees it: on the user's side, framed as data, with the seqs it stands for."""
    words = wording(language)
    covers = covered(ranges)
    preface = words.summary.format(covers=covers, recall=words.recall_fold.format(fold=fold))
    nonce = nonce or nonce_of((body, covers))
    return f"{preface}\n{frame('folded', body, nonce, (('fold', str(fold)),))}"


def window_text(fold: int, ranges: Ranges, messages: int, language: Language) -> str:
    """The marker of messages hidden without a summary: which, how many, and the handle."""
    words = wording(language)
    recall = words.recall_fold.format(fold=fold)
    return words.window.format(messages=f"{messages:,}", covers=covered(ranges), recall=recall)


def pruned_notice(fold: int, ranges: Ranges, messages: int, language: Language) -> str:
    """One notice for all the small gaps of a prune: single ones would cost what they save."""
    words = wording(language)
    recall = words.recall_fold.format(fold=fold)
    return words.pruned.format(messages=f"{messages:,}", covers=covered(ranges), recall=recall)


def gap_text(body: str, *, fold: int, ranges: Ranges, messages: int, language: Language, nonce: str = "") -> str:
    """A gap between kept messages, in short."""
    words = wording(language)
    covers = covered(ranges)
    preface = words.gap.format(messages=f"{messages:,}", covers=covers, recall=words.recall_fold.format(fold=fold))
    return f"{preface}\n{frame('gap', body, nonce or nonce_of((body, covers)))}"


def emergency_header(language: Language) -> str:
    """What a digest says of itself when there was no time to ask a model."""
    return wording(language).emergency


def interrupted_text(language: Language) -> str:
    """What the model is told when it is asked to go on while calls of its own are open."""
    return wording(language).interrupted


def go_on_text(language: Language) -> str:
    """What stands behind the model's own last words, where a request may not end with them."""
    return wording(language).go_on


def cleared_text(tool: str, arguments_excerpt: str, seq: int, tokens: int, language: Language) -> str:
    """A tool result's placeholder: without the call's own words the model would only call again."""
    words = wording(language)
    return words.cleared_result.format(
        tool=_one_line(tool, 80),
        arguments=_one_line(arguments_excerpt, EXCERPT),
        tokens=f"{tokens:,}",
        recall=words.recall_seq.format(seq=seq),
    )


def cleared_block_text(kind: ClearedKind, seq: int, tokens: int, language: Language) -> str:
    """The placeholder of an image, a document or old reasoning."""
    words = wording(language)
    templates = {
        "image": words.cleared_image,
        "document": words.cleared_document,
        "reasoning": words.cleared_reasoning,
    }
    return templates[kind].format(tokens=f"{tokens:,}", recall=words.recall_seq.format(seq=seq))


def offload_text(
    head: str, tail: str, *, tokens: int, digest_name: str, seq: int, path: str | None, language: Language
) -> str:
    """A long output's two ends, where the rest is, and how to get it; without a `tail`, `head` is the whole."""
    words = wording(language)
    template = words.offload_file if path else words.offload
    label = template.format(
        path=_one_line(path or "", 400),
        name=_one_line(digest_name, 80),
        tokens=f"{tokens:,}",
        recall=words.recall_seq.format(seq=seq),
    )
    nonce, half = nonce_of((head, tail)), PREVIEW // 2  # characters of each end, whole letters only
    if not tail and len(head) > PREVIEW:
        head, tail = head[: -len(head) // 2], head[-len(head) // 2 :]
    front = head if len(head) <= half or not tail else head[: whole(head, half)]
    back = tail if len(tail) <= half else tail[whole(tail, len(tail) - half) :]
    left_out = len(head) - len(front) + len(tail) - len(back)
    mark = words.offload_gap.format(characters=f"{left_out:,}") if left_out else MARK
    return "\n".join((label, frame("output", f"{front}\n{mark}\n{back}" if back else front, nonce)))


def fold_notice(kind: str, messages: int, before: int, after: int, language: Language) -> str:
    """One line for people."""
    notices = wording(language).notices
    template = notices.get(kind, notices["window"])
    return template.format(messages=f"{messages:,}", before=f"{before:,}", after=f"{after:,}")


def covered(ranges: Ranges) -> str:
    """Seqs as a reader writes them: `2-88, 90`; of a torn cover its ends: `2-28, 30-49, …, 390-412`."""
    spans: Sequence[tuple[int, int]] = list(ranges)
    if len(spans) > _SHOWN_RANGES:
        shown = [_span(*span) for span in spans[: _SHOWN_RANGES - 1]]
        return "seq " + ", ".join((*shown, MARK, _span(*spans[-1])))
    return "seq " + ", ".join(_span(*span) for span in spans) if spans else MARK


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _one_line(value: str, most: int) -> str:
    plain = neutral(" ".join("".join(c if c.isprintable() else " " for c in value[: 4 * most]).split()))
    return plain if len(plain) <= most else plain[: whole(plain, most - 1)] + MARK


# -- messages in words ------------------------------------------------------------------------------------------------


def spoken(message: Message, language: Language, spoken_by: SpokenBy = "", *, is_first: bool = False) -> str:
    """The message's blocks, one after the other: a tool's result that stands as text in it as a result, and what its
    client added with a mark that says so."""
    parts: list[str] = []
    for place, block in read_as(message, spoken_by, is_first=is_first):
        is_text = message.role == "user" and isinstance(message.blocks[place], Text)
        if is_text and isinstance(block, Text | Document):
            parts += _marked(block, language)
        else:
            parts.append(said(block, language))
    return "\n".join(filter(None, parts))


def _marked(block: Text | Document, language: Language) -> tuple[str, ...]:
    """A text of the user's side: what the client added, with a mark, and what a person typed."""
    side = users_side(block.text) if isinstance(block, Text) else UsersSide((), (block.text,))
    if not side.added:
        return (block.text,)
    mark = wording(language).marks["client"]
    return (*(f"[{mark}] {added.strip()}" for added in side.added if added.strip()), *side.typed)


def said(block: Block, language: Language) -> str:
    """One block in words; empty for what is not shown to a summarizer."""
    match block:
        case Text():
            return block.text
        case ToolCall():
            return f"[tool call {block.name}] {block.arguments}"
        case ToolResult():
            inner = "\n".join(part for part in (said(nested, language) for nested in block.blocks) if part)
            return f"[tool result{', error' if block.is_error else ''}] {inner}".rstrip()
        case Image() | Document() | Opaque():
            return placeholder(block, language)
        case Reasoning():
            return ""


def placeholder(block: Image | Document | Opaque, language: Language) -> str:
    """What stands for a picture, a file or a provider's item; a document that is text is read as text."""
    marks = wording(language).marks
    match block:
        case Image():
            return _named(marks["image"], block.media_type, block.url if not block.data else "")
        case Document():
            label = _named(marks["document"], block.title, block.media_type, block.url if not block.data else "")
            return f"{label}\n{block.text}" if block.text else label
        case Opaque():
            return _named(marks["item"], block.kind)


def _named(kind: str, *facts: str) -> str:
    short = [fact if len(fact) <= 120 else fact[:119] + "…" for fact in facts if fact]
    return f"[{': '.join((kind, ', '.join(short)))}]" if short else f"[{kind}]"

"""Which words in a message a person said, wherever a client put them.

People speak in messages of their own, but not only there: when they reject a tool, as arguments of a command, as an
answer to a question that a tool asked for the model, by editing a to-do list, while the agent works. Each client wraps
such words in sentences of its own; the table below knows them, and one general rule knows a failed call that quotes its
user. What a tool returned is never taken for a person's words because of what stands in its middle: a file or a page
may say anything. Where a client without native tools writes a tool's answer as text, that text is told as a result.
It refuses to guess from style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from contextfold.deferred import expression

from .messages import Block, Document, Message, Text, ToolCall, ToolResult
from .tools import kind_of_tool

_LONGEST = 20_000  # characters of a result that are looked at: nobody types more into a rejection
_DEEPEST = 12  # levels of an answer that is JSON


class UsersSide(NamedTuple):
    """A text of the user's side: what a person typed, and what a product put there."""

    typed: tuple[str, ...]
    added: tuple[str, ...] = ()


# -- texts of the user's side -----------------------------------------------------------------------------------------

_NOTE = expression(r"<(system-reminder|environment_details|environment_context)>.*?(?:</\1>|\Z)", re.DOTALL)
_MEANWHILE = expression(  # typed while the agent works, shown to it in a note
    r"\A<system-reminder>\s*+The user sent (?:the following|a new) message[^\n]{0,80}\n(?P<words>.*+)", re.DOTALL
)
_PRODUCT = expression(
    r"""\A\s*+(?:
        <(?:command-|local-command|system-reminder|task-notification|bash-|user-prompt-submit|environment_context
          |environment_details|user_instructions|permissions|collaboration|skill|turn_aborted|instructions\b|apps_
          |subagent_notification|user_shell|personality|folded-|additional_data|context\b|attachments?\b|open_and_)
      | \#\ AGENTS\.md\ instructions
      | \[(?:Request\ interrupted|ERROR\]|TASK\ RESUMPTION\])
      | Caveat:\ The\ messages\ below
      | This\ session\ is\ being\ continued
      | Base\ directory\ for\ this\ skill
      | Stop\ hook\ feedback
      | EXECUTION\ RESULT\ of\ \[
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_WRAPPED = expression(r"\A\s*+<(?P<tag>[a-z][\w-]{0,60})>", re.IGNORECASE)
_AROUND = expression(r"</?(?:task|feedback|user_message|user_query|userRequest|answer)>")
_ASKED = ("user_query", "userRequest")  # beside them a client puts what it adds
_IN_IDE = "## My request for Codex:"
_COMMAND = expression(r"\A\s*+<(?:command-(?:name|message|args)|bash-input)>")


def users_side(text: str) -> UsersSide:
    """What a person typed of a text that stands on the user's side, and what a product added to it."""
    notes = tuple(note.group() for note in _NOTE.finditer(text))
    meanwhile = tuple(words for note in notes if (words := _before_orders(_MEANWHILE.match(note))))
    rest = _NOTE.sub("", text) if notes else text
    if _COMMAND.match(rest):
        return UsersSide((*_commanded(rest), *meanwhile), notes)
    for tag in _ASKED:
        if words := _inside(rest, tag):
            return UsersSide((words, *meanwhile), notes)
    if _is_product(rest):
        return UsersSide(meanwhile, (*notes, rest))
    if _IN_IDE in rest:
        before, _, rest = rest.rpartition(_IN_IDE)
        notes = (*notes, before)
    typed = _AROUND.sub("", rest)
    return UsersSide((typed, *meanwhile) if typed.strip() else meanwhile, notes)


def _is_product(text: str) -> bool:
    """Whether a client wrote it: by its opening, or because all of it stands in one tag of a client's."""
    if _PRODUCT.match(text):
        return True
    tag = _WRAPPED.match(text)
    return tag is not None and not _AROUND.match(tag.group().strip()) and text.rstrip().endswith(f"</{tag['tag']}>")


def is_typed(text: str) -> bool:
    """Whether a person said something in a text of the user's side."""
    return bool(users_side(text).typed)


def _before_orders(found: re.Match[str] | None) -> str:
    """The words in a note, without what the client tells the model to do about them."""
    if found is None:
        return ""
    words = found["words"].removesuffix("</system-reminder>")
    for order in ("\n\nPlease address this message", "\n\nIMPORTANT:"):
        words = words.partition(order)[0]
    return words.strip()


def _commanded(text: str) -> Iterator[str]:
    """A command with what was typed behind it; without arguments nobody said anything."""
    arguments = _inside(text, "command-args")
    if arguments:
        yield f"{_inside(text, 'command-name')} {arguments}".strip()
    if typed := _inside(text, "bash-input"):
        yield f"! {typed}"


def _inside(text: str, tag: str) -> str:
    _, opened, rest = text.partition(f"<{tag}>")
    return rest.partition(f"</{tag}>")[0].strip() if opened else ""


# -- answers of tools that are written as text ------------------------------------------------------------------------

_HEADING = expression(
    r"\A\s*+\[(?P<tool>[\w-]{1,60})(?: for '(?P<about>[^'\n]{0,400}+)'[^\n]{0,400}?)?\] Result:\s*+(?P<text>.*+)",
    re.DOTALL,
)
_PROMPTS = expression(r"\A\s*+<command-message>")  # commands of the client itself begin with their name
_LAUNCHES = expression(r"\A\s*+Launching skill: ")
_ABOUT: Mapping[str, str] = {"runs": "command", "searches": "query", "finds": "query", "asks": "question"}


def as_told(message: Message) -> tuple[Block, ...]:
    """The blocks of a message, where `[tool for 'this'] Result:` stands in the user's texts as a call and its result.

    The answer follows in the same text or in the next one. Such a call has a name of its own place, and no id. The
    prompt that a command or a skill stands for is a document of its client's: it follows the command, or the skill's
    result, in a text of its own.
    """
    if message.role != "user" or not any(
        _is_prompt_next(block) or (isinstance(block, Text) and "] Result:" in block.text) for block in message.blocks
    ):
        return message.blocks
    out: list[Block] = []
    heading: re.Match[str] | None = None
    prompted = False
    for place, block in enumerate(message.blocks):
        found = _HEADING.match(block.text) if isinstance(block, Text) else None
        if found is not None:
            out.append(_call(found, place))
            heading = None if found["text"] else found
            out += [ToolResult(f"text {place}", (Text(found["text"]),))] if found["text"] else []
        elif heading is not None and isinstance(block, Text) and not _NOTE.match(block.text.lstrip()):
            out.append(ToolResult(f"text {place - 1}", (block,)))
            heading = None
        elif prompted and isinstance(block, Text) and not _NOTE.match(block.text.lstrip()):
            out.append(Document(text=block.text))
        else:
            out.append(block)
        prompted = _is_prompt_next(block)
    return tuple(out)


def _is_prompt_next(block: Block) -> bool:
    """Whether a client puts the text of a command or of a skill behind it."""
    if isinstance(block, ToolResult):
        return any(_LAUNCHES.match(text) for text in islice(_texts(block), 1))
    return isinstance(block, Text) and _PROMPTS.match(block.text) is not None


def _call(heading: re.Match[str], place: int) -> ToolCall:
    tool, about = heading["tool"], heading["about"] or ""
    key = _ABOUT.get(kind_of_tool(tool) or "", "path")
    return ToolCall(f"text {place}", tool, msgspec.json.encode({key: about} if about else {}).decode())


# -- results of tools -------------------------------------------------------------------------------------------------

# How clients begin a result in which their user speaks. Whatever follows the opening is said by the user.
_OPENINGS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (
        r"The user doesn't want to (?:proceed with|take) this (?:tool use|action)\b[^\n]{0,300}?the user said:",
        r"Users? (?:has|have) answered your questions?:",
        r"User has approved your plan\b[^\n]{0,300}\n\n\#\# Approved Plan \(edited by user\):",
    ),
    "opencode": (r"The user rejected permission to use this[^\n]{0,80}? with the following feedback:",),
    "roo, cline": (
        r"The user (?:denied|approved|rejected) this operation and (?:provided|responded with) the following "
        r"(?:feedback|context|message):",
        r"(?=\{\"status\":\s?\"(?:denied|approved)\"[^{}]{0,300}\"feedback\":)",
        r"User edits todo:",
        r"The user made the following updates to your content:",
    ),
    "gemini-cli": (r"User modified the `?\w{1,40}`? content to be:",),
    "copilot": (r"The user rejected this tool call\.\s{1,4}User feedback:",),
    "codex": (r"(?:exec command|patch|tool call) rejected by (?:the )?user(?: with (?:the )?(?:feedback|reason))?:",),
}
_OPENING = expression(
    rf"\A\s*+(?:Error:\s*+)?(?:{'|'.join(each for one in _OPENINGS.values() for each in one)})\s*+(?P<words>.++)",
    re.DOTALL,
)
# What clients say about their user without a word of hers.
_NOTHING_SAID = expression(
    r"\A\s*+(?:User has approved your plan|The user (?:has )?approved this operation\.?\s*+\Z"
    r"|The user wants to clarify these questions)"
)
# Any client: a call that failed, and says at once that its user spoke, and what.
_GENERAL = expression(
    r"\A[^\n]{0,120}?(?:"
    r"\b(?:user|human) (?:rejected|denied|declined|refused|doesn't want|does not want|said|says|replied|responded"
    r"|answered|wrote|commented|instructed)\b[^\n:“\"]{0,120}"
    r"|\b(?:user|human)(?:'s)? (?:feedback|comment|reason|response|reply|answer)(?=[:“\"])"
    r"|(?:ユーザー|利用者)(?:が|は|の|から|による)?(?:拒否|却下|中止|回答|返答|コメント|発言|指示|フィードバック|理由)"
    r"[^\n:：「\"]{0,60}"
    r")(?:[:：]\s*+|(?=[「“\"]))(?P<words>.++)",
    re.DOTALL | re.IGNORECASE,
)
_CLOSINGS = (  # what clients put behind their user's words
    "\n\nNote: The user's next message may contain",
    " You can now continue with the user's answers in mind",
    "\n\nPlease address this message",
)
_ANSWER_KEYS = frozenset(
    ("answers", "answer", "content", "response", "responses", "feedback", "selected", "selection", "reply", "comment")
)
_QUESTION_KEYS = frozenset(["question", "questions", "header", "options", "action", "status"])


def said_in_result(result: ToolResult, tool: str = "") -> tuple[str, ...]:
    """What a person said inside a tool's result; `tool` is the name of the tool that was called, where it is known."""
    text = "\n".join(_texts(result))
    return tuple(_quoted(text, tool or result.name, is_error=result.is_error)) if text else ()


def people_in(message: Message, tools: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """All that a person said in a message; `tools` are the names of the tools by the ids of their calls."""
    if message.role != "user":
        return ()
    found: list[str] = []
    names = dict(tools or {})
    for block in as_told(message):
        if isinstance(block, ToolCall):
            names[block.id] = block.name
        elif isinstance(block, Text):
            found += users_side(block.text).typed
        elif isinstance(block, ToolResult):
            found += said_in_result(block, names.get(block.call, ""))
    return tuple(found)


def _texts(result: ToolResult) -> Iterator[str]:
    for block in result.blocks:
        if isinstance(block, Text | Document):
            yield block.text


def _quoted(text: str, tool: str, *, is_error: bool) -> Iterator[str]:
    opening = _OPENING.match(text[:_LONGEST])
    if opening is None and _NOTHING_SAID.match(text):
        return
    asks = kind_of_tool(tool) == "asks"
    if opening is None and is_error:
        opening = _GENERAL.match(text[:_LONGEST])
    if opening is not None:
        yield from _unwrapped(opening["words"])
    elif asks and not is_error:
        yield from _unwrapped(text[:_LONGEST])


def _unwrapped(words: str) -> Iterator[str]:
    """Without what a client puts around and behind them; an answer that is JSON by the strings that were given."""
    for closing in _CLOSINGS:
        words = words.partition(closing)[0]
    words = _AROUND.sub("", words).strip()
    if _NOTHING_SAID.match(words):
        words = "\n".join(line.strip() for line in words.splitlines() if line.strip().startswith("Answer:"))
    given = _given(words) if words.startswith(("{", "[")) else None
    if given is not None:
        yield from (each for each in given if each.strip())
    elif words:
        yield words.replace('", "', '"\n"')


def _given(words: str) -> list[str] | None:
    """The strings of an answer that is JSON, without the questions; None where it is none."""
    try:
        value = msgspec.json.decode(words)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    names_answer = isinstance(value, dict) and any(str(key).casefold() in _ANSWER_KEYS for key in value)
    return list(_strings(value, inside=not names_answer))


def _strings(value: Any, *, inside: bool, depth: int = 0) -> Iterator[str]:
    """Strings below a key that names an answer; a question's own words are not the user's."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _DEEPEST:
        for each in value:
            yield from _strings(each, inside=inside, depth=depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for key, each in value.items():
            name = str(key).casefold()
            if name in _ANSWER_KEYS or (inside and name not in _QUESTION_KEYS):
                yield from _strings(each, inside=True, depth=depth + 1)

"""Results that stand as text on the user's side, because their client has no native tools or added them by itself.

Each such client writes a frame around what a tool returned. The frame counts only where the client writes it: at the
beginning of a text, or in the line that ends it. Whatever stands between belongs to the tool, another frame included,
because a file may hold any sentence. What follows in a text of its own is the user's side again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from contextfold.deferred import expression

from .messages import Block, Document, Message, Text, ToolCall, ToolResult
from .speakers import is_speaking
from .tools import kind_of_tool
from .users_text import is_quoted, users_side

_HEADING: Final = expression(  # Roo, Cline: `[read_file for 'a.py'] Result:`, with the result behind it or in the next
    r"\A\s*+\[(?P<tool>[^\s\[\]]{1,80})(?: (?:for '(?P<about>.*?)|[^\n]{1,400}?))?\] Result:\s*+(?P<text>.*+)",
    re.DOTALL,
)
_ABOUT_ENDS: Final = expression(r"'|\n")
_LATER_HEADING: Final = expression(r"^\[[\w-]{1,60} for '[^'\n]{0,400}+'[^\n]{0,400}?\] Result:", re.MULTILINE)
_MENTIONED: Final = expression(  # opencode, of a file its user named: the result is the next text
    r"\A\s*+Called the (?P<tool>[\w-]{1,60}) tool with the following input: (?P<arguments>\{.*+)", re.DOTALL
)
_FRAMES: Final = expression(
    r"""\A\s*+(?:
        EXECUTION\ RESULT\ of\ \[(?P<openhands>[^\]\n]{1,80})\]
      | Tool\ output\ for\ (?P<continue>[\w./-]{1,80})\ tool\ call:
      | \[(?P<mention>[\w-]{1,60})\ for\ '[^'\n]{0,400}'\]\n
      | (?P<observed>Observed\ result\ of\ command\ executed\ by\ user:\n|\*\*Browser\ output\*\*\n)
      | (?P<swe_agent>OBSERVATION:|Observation:|Call\ id:\ [^\n]{1,80}\n(?:Observation|Error):
          |Your\ bash\ command\ contained\ syntax\ errors\ and\ was\ NOT\ executed\.)
      | (?P<smolagents>Error:\n(?=.*\nNow\ let's\ retry:))
      | (?P<mini_swe_agent><returncode>-?\d*</returncode>|<exception>[^<]{0,4000}</exception>
          |<warning>\s*+The\ output\ of\ your\ last\ command\ was\ too\ long
          |The\ last\ command\ <command>.{0,20000}?</command>\ timed\ out\ and\ has\ been\ killed\.)
      | (?P<markup><(?:tool_response|tool_results?|tool_output|function_results?|function_response|observation
          |function_calls_result)\b)
      | (?P<fenced>```tool_outputs?\n)
      | (?P<program>\[Tool\ result(?:\ from\ [\w./-]{1,80})?\]\n|TOOL\ RESULT:\n
          |TOOL\ RESPONSE:\s*\n---|Tool\ `[^`\n]{1,80}`\ returned:\n
          |exitcode:\ -?\d+\ \(execution\ (?:succeeded|failed)\)\n
          |The\ script\ ran,\ then\ exited\ with\ an\ error\ \(POSIX\ exit\ code:
          |\[TOOL_RESULTS\]|<\|observation\|>)
      | (?P<interpreter>Code\ output:\ (?=.*\n\nWhat\ does\ this\ output\ mean\ /\ what's\ next))
      | (?P<aider>I\ ran\ this\ command:\n\n(?=.{0,20000}?\n\nAnd\ got\ this\ output:\n)
          |Here\ is\ the\ content\ of\ https?://[^\s]{1,2000}:\n)
      | (?P<gemini_cli>I\ ran\ the\ following\ shell\ command:\n```)
      | (?P<file>---\ [^\s-][^\n]{0,400}?[./][^\n]{0,100}\ ---\n\n)
      | (?P<resource>Reading\ MCP\ resource:\ )
      | (?P<pi>Ran\ `[^\n]{1,4000}`\n(?:\(no\ output\)|```\n))
    )""",
    re.VERBOSE | re.DOTALL,
)
_AFTER_FENCE: Final = expression(  # pi: what it writes behind the output of a command
    r"(?:\s*+(?:Command exited with code -?\d+|\(command cancelled\)|\[Output truncated[^\n]*\])){0,3}\s*+\Z"
)
_NAMED: Final = ("openhands", "continue", "mention")  # whose frames name the tool
_ALONE: Final = ("aider", "gemini_cli", "pi", "mention", "fenced", "interpreter")  # clients that write one text each
_AS_TYPED: Final = ("swe_agent", "markup")  # a person may begin a text so: the model's message before it decides
_ACTION: Final = expression(r"```|<[/|]?[a-z_]|[{}]|\b(?:action|command|tool_?calls?)\b[^\n]{0,40}:", re.IGNORECASE)
_STATE: Final = expression(r"(?:\A|\n)bash-\$\s*\Z")  # SWE-agent: the last line of each observation
_ISSUE: Final = expression(  # SWE-agent: how the message begins that holds the task
    r"\A\s*+We're currently solving the following (?:issue|CTF challenge)\b"
)
_HANDED_ON: Final = expression(
    r"\A\s*+(?:Tool execution succeeded\.|Binary content (?:provided|of type)\b)"
)  # Gemini CLI
_OPENED: Final = expression(r"^[ \t]*+<(?P<tag>[a-zA-Z][\w-]{0,60})(?=[\s>])", re.MULTILINE)
_MOST_HEADINGS: Final = 64  # in one text; with more of them all of it is a tool's
_RUNS: Final = "shell"  # what those are called that name no tool
_FILES_BEGIN, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"  # Gemini CLI
_PROMPTS: Final = expression(r"\A\s*+<command-message>")  # commands of the client itself begin with their name
_RESOURCE: Final = expression(  # Claude Code: a server's resource, each of its texts as a reminder of its own
    r"\A\s*+<system-reminder>\s*+Full contents of resource:"
)
_OTHER_AGENTS: Final = "For context:"  # ADK: what other agents said, and what their tools returned
_INTERRUPTED: Final = "[Request interrupted by user"
_LAUNCHES: Final = expression(r"\A\s*+Launching skill: ")
_SKILLS: Final = ("", "Skill", "SlashCommand")  # a result whose call is not known may be one
_ABOUT: Final[Mapping[str, str]] = {"runs": "command", "searches": "query", "finds": "query", "asks": "question"}


def acts_in_text(message: Message) -> bool:
    """Whether a model's message may hold an action that is written as text, so that its result comes as text too.

    Every client without native tools has its model write an action into each message: a fence, a tag, JSON or a line
    that names it. After a message without any of those, what begins like an observation was typed.
    """
    return any(isinstance(block, Text) and _ACTION.search(block.text) for block in message.blocks)


def as_told(
    message: Message, tools: Mapping[str, str] | None = None, *, is_first: bool = False, is_text_mode: bool = True
) -> tuple[Block, ...]:
    """The blocks of a message, with every tool's result that stands in the user's texts as a call and its result.

    Such a call has a name of its own place, and no id. The prompt that a command or a skill stands for is a document of
    its client's: it follows the command, or the skill's result, in a text of its own. `tools` are the names of the
    tools by the ids of their calls; `is_first` says that the model has not spoken yet. `is_text_mode` says that the
    model's message before this one may hold an action as text (`acts_in_text`), or is not known: in doubt it does.
    """
    return tuple(block for _, block in told_blocks(message, tools, is_first=is_first, is_text_mode=is_text_mode))


def told_blocks(
    message: Message, tools: Mapping[str, str] | None = None, *, is_first: bool = False, is_text_mode: bool = True
) -> Iterator[tuple[int, Block]]:
    """The same, each with the place of the block in the message that it was read from."""
    if message.role != "user":
        yield from enumerate(message.blocks)
        return
    heading = -1  # the place of a heading whose result is still to come
    prompted = is_framed = is_result = is_resource = False
    first = message.blocks[0] if message.blocks else None
    hands_over = isinstance(first, Text) and first.text[: 2 * len(_OTHER_AGENTS)].strip() == _OTHER_AGENTS
    files = _referenced(message)
    for place, block in enumerate(message.blocks):
        if not isinstance(block, Text):
            yield place, block
            is_framed = is_framed or is_result or _hands_on(block)  # a picture between texts of one result
        elif place in files or hands_over or (is_resource and block.text.lstrip().startswith("<system-reminder>")):
            yield place, Document(text=block.text)
        elif heading >= 0:
            yield place, ToolResult(f"text {heading}", (block,))
            heading, is_result, is_framed = -1, True, True
        elif is_framed and not _ends_result(block.text):
            yield place, ToolResult(f"more {place}", (block,), name=_RUNS)  # never the id of a call
        elif prompted:
            yield place, Document(text=block.text)
        else:
            read = list(_read(block.text, place, is_first=is_first, is_text_mode=is_text_mode))
            yield from ((place, each) for each in read)
            # A command may hold what ends a heading; a text that ends so has its result in the next.
            awaits = isinstance(read[-1], ToolCall) or (len(read) > 1 and block.text.rstrip().endswith("] Result:"))
            heading = place if awaits else -1
            is_result = isinstance(read[-1], ToolResult)
            is_framed = is_framed or (is_result and _goes_on(block.text))
        # Everything behind a skill's result, or a command, is its prompt: it may be one text or several.
        prompted = (prompted and not _interrupts(block)) or _is_prompt_next(block, tools or {})
        is_resource = is_resource or (isinstance(block, Text) and _RESOURCE.match(block.text) is not None)


def _read(
    text: str, place: int, *, is_first: bool, is_text_mode: bool = True, is_later: bool = False
) -> Iterator[Block]:
    """What one text is: a heading, a result in its frame, words before a result, or words.

    A heading behind words (`is_later`) could be a file's: the tool it names is never one in which a person speaks.
    """
    call = f"text {place}"
    tool = _framed(text, is_text_mode=is_text_mode)
    if is_text_mode and _ends_with_state(text) and not (is_first and _ISSUE.match(text)):
        tool = _RUNS
    if tool:
        yield _call(call, tool, "")
        yield ToolResult(call, (Text(text),))
    elif heading := _heading(text):
        tool = _RUNS if is_later and is_speaking(heading["tool"]) else heading["tool"]
        yield _call(call, tool, _ABOUT_ENDS.split(heading["about"] or "", maxsplit=1)[0])
        if heading["text"]:
            yield ToolResult(call, (Text(heading["text"]),))
    elif mentioned := _MENTIONED.match(text):
        yield ToolCall(call, mentioned["tool"], mentioned["arguments"].strip())
    elif is_text_mode and (start := _later_heading(text)) >= 0:
        before = text[:start]
        yield Document(text=before) if _is_open(before, text) else Text(before)
        yield from _read(text[start:], place, is_first=is_first, is_later=True)
    else:
        yield Text(text)


def _heading(text: str) -> re.Match[str] | None:
    """The heading that a text begins with; a plain word in brackets is a tool only if tools are called so."""
    heading = _HEADING.match(text)
    is_word = heading is not None and "_" not in heading["tool"] and text[heading.end("tool")] == "]"
    return None if heading is None or (is_word and kind_of_tool(heading["tool"]) is None) else heading


def _framed(text: str, *, is_text_mode: bool = True) -> str:
    """The tool in whose frame all of a text stands, with its client, so that it is never one that asks; or nothing."""
    frame = _FRAMES.match(text)
    if frame is None:
        return ""
    client = frame.lastgroup
    if not is_text_mode and client in _AS_TYPED:
        return ""
    if client == "pi" and not _AFTER_FENCE.match(text, max(text.rfind("```") + 3, frame.end())):
        return ""
    return f"{client}.{frame[client]}" if client in _NAMED else _RUNS


def _later_heading(text: str) -> int:
    """Where a heading stands behind words, as clients join texts; -1 for none. What a client quotes there is none."""
    if "] Result:" not in text:
        return -1
    for number, heading in enumerate(_LATER_HEADING.finditer(text)):
        if number == _MOST_HEADINGS or not is_quoted(text, heading.start()):
            return heading.start()
    return -1


def _is_open(before: str, text: str) -> bool:
    """Whether a tag in a line of its own is opened before a place of a text and closed behind; many count as one."""
    tags = {each["tag"] for each in _OPENED.finditer(before)}
    if len(tags) > _MOST_HEADINGS:
        return True
    return any(text.rfind(f"</{tag}>") > before.rfind(f"</{tag}>") for tag in tags)


def _ends_result(text: str) -> bool:
    """Whether a text behind a result is not of it: a client's own note, or the heading of another tool's result.

    A tool in which a person speaks is none of those: the result before it could have written that heading.
    """
    heading = _heading(text)
    if heading is not None:
        return not is_speaking(heading["tool"])
    return not users_side(text).typed and not _framed(text)


def _hands_on(block: Block) -> bool:
    """Whether a result says, as Gemini CLI's do, that what it is about follows it in texts of the same message."""
    texts = (each.text for each in block.blocks if isinstance(each, Text)) if isinstance(block, ToolResult) else ()
    return any(_HANDED_ON.match(text) for text in texts)


def _ends_with_state(text: str) -> bool:
    return "bash-$" in text[-20:] and _STATE.search(text[-40:]) is not None


def _goes_on(text: str) -> bool:
    """Whether a result that begins so may have further texts in its message; some clients write one text each."""
    frame = _FRAMES.match(text)
    return frame is not None and frame.lastgroup not in _ALONE


def _call(id: str, tool: str, about: str) -> ToolCall:
    key = _ABOUT.get(kind_of_tool(tool) or "", "path")
    return ToolCall(id, tool, msgspec.json.encode({key: about} if about else {}).decode())


def _interrupts(block: Block) -> bool:
    """Whether a person stopped her agent here: what she says next stands behind it."""
    return isinstance(block, Text) and block.text.startswith(_INTERRUPTED)


def _referenced(message: Message) -> range:
    """The places of texts that are files which the user named: from the mark that begins them to the last end."""
    marks = [
        (place, block.text.strip())
        for place, block in enumerate(message.blocks)
        if isinstance(block, Text) and len(block.text) < 2 * len(_FILES_BEGIN)
    ]
    first = next((place for place, text in marks if text == _FILES_BEGIN), None)
    if first is None:
        return range(0)
    last = max((place for place, text in marks if text == _FILES_END), default=0)
    return range(first, (last if last > first else len(message.blocks)) + 1)


def _is_prompt_next(block: Block, tools: Mapping[str, str]) -> bool:
    """Whether a client puts the text of a command or of a skill behind it."""
    if isinstance(block, ToolResult):
        text = next((each.text for each in block.blocks if isinstance(each, Text | Document)), "")
        return tools.get(block.call, block.name) in _SKILLS and _LAUNCHES.match(text) is not None
    return isinstance(block, Text) and _PROMPTS.match(block.text) is not None

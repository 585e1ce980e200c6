"""Who could have produced a text, and in which results of which tools a client lets its user speak.

Provenance comes before wording: a file, a page or a command may print any sentence, the client's own included. So the
table below lists, for each client, the native tools whose result that client writes itself. A name that carries a
server (`mcp__x__ask_user`, `x.ask_user`, `x/ask_user`) is in no row. Three sorts of tools are left out on purpose:

- tools that read, search, list or fetch return foreign bytes at the place where a rejection would stand;
- tools that run commands too: Claude Code 1.0.108 hands a failed command's output on as it is, with `is_error`, so
  "Exit code 1" in front of it, which later versions write, proves nothing about a conversation of unknown age; other
  dialects do not mark errors at all;
- sub-agents and servers write what they like, and mark it as an error if they like.

What such a tool reports of a person's wish is quoted as reported by that tool. In doubt nobody is believed: a command
that its user rejected with words, the usual case of doubt, is reported by the shell.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from contextfold.deferred import expression

from .tools import is_native, kind_of_tool

SpeakerKind: TypeAlias = Literal["person", "client", "model", "tool"]


class Provenance(Struct, frozen=True, gc=False):
    """Who could have produced a text: the person who typed it, the client, the model, or a tool by its name."""

    kind: SpeakerKind
    tool: str = ""

    @property
    def is_person(self) -> bool:
        return self.kind == "person"

    @property
    def is_model(self) -> bool:
        return self.kind == "model"


PERSON: Final = Provenance("person")
CLIENT: Final = Provenance("client")  # what the agent's program adds by itself: reminders, wrappers, skills, summaries
MODEL: Final = Provenance("model")


class SpeakingTools(Struct, frozen=True):
    """The tools of one client in whose results its user speaks, and how the client writes that down."""

    client: str
    asks: frozenset[str] = frozenset()  # they ask the user; the result is the answer
    writes: frozenset[str] = frozenset()  # they write; whatever they return begins with a sentence of the client's
    answer: str = ""  # how an answer begins; empty where all of the result is the answer
    refusal: str = ""  # how a result begins that the client writes in place of a rejected call's
    is_marked: bool = False  # a refusal comes as an error, always


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Written from what the clients send. OpenHands, SWE-agent, mini-swe-agent and aider have no row: there a person speaks
# in messages of her own only.
SPEAKING_TOOLS: Final[tuple[SpeakingTools, ...]] = (
    SpeakingTools(  # other errors of these tools begin with <tool_use_error>, other results with "The file …"
        "claude-code",
        asks=_names("AskUserQuestion ExitPlanMode"),
        writes=_names("Edit MultiEdit Write NotebookEdit TodoWrite TaskCreate TaskUpdate EnterPlanMode"),
        answer=(
            r"Users? (?:has|have) answered your questions?:"
            r"|User has approved your plan\b[^\n]{0,300}\n\n\#\# Approved Plan \(edited by user\):"
        ),
        refusal=(
            r"(?:The user doesn't want to proceed with this tool use\.|Permission for this tool use was denied\.) "
            r"The tool use was rejected[^\n]{0,200}\. (?:To tell you how to proceed, t|T)he user said:\n"
        ),
        is_marked=True,
    ),
    SpeakingTools(  # other results begin with <error>, "The content was …", <file_write_result> or a path in JSON
        "roo, cline",
        asks=_names("ask_followup_question attempt_completion plan_mode_respond plan_mode_response"),
        writes=_names(
            "write_to_file apply_diff replace_in_file insert_content search_and_replace search_replace edit_file "
            "update_todo_list"
        ),
        answer=(
            r"(?=<(?:answer|user_message|feedback)>)"
            r"|The user has provided feedback on the results\.[^\n]{0,300}\n(?=<feedback>)"
        ),
        refusal=(
            r"The user (?:denied|approved|rejected) this operation and (?:provided|responded with) the following "
            r"(?:feedback|context|message):"
            r"|(?=\{\"status\":\s?\"(?:denied|approved)\"[^{}]{0,300}\"feedback\":)"
            r"|User edits todo:"
        ),
    ),
    SpeakingTools("codex", asks=_names("request_user_input"), answer=r"(?=\{)"),  # refusals come without words
    SpeakingTools(  # other results begin with "Successfully …" or with the client's error
        "gemini-cli, qwen-code",
        asks=_names("ask_user ask_user_question"),
    ),
    SpeakingTools(  # other results begin with "Edit applied", "Wrote file" or the client's error
        "opencode",
        asks=_names("question"),
        answer=r"Users? (?:has|have) answered your questions?:",
        writes=_names("edit write multiedit patch apply_patch todowrite"),
        refusal=r"The user rejected permission to use this[^\n]{0,80}? with the following feedback:",
    ),
    SpeakingTools(  # other results begin with "File …" or "The following files were …"
        "copilot",
        asks=_names("ask_user ask_questions vscode_askQuestions"),
        writes=_names(
            "edit create apply_patch create_file edit_file insert_edit_into_file replace_string_in_file "
            "multi_replace_string_in_file"
        ),
        refusal=r"The user rejected this tool call\.\s{1,4}User feedback:",
    ),
    SpeakingTools("cursor", asks=_names("AskQuestion")),
    SpeakingTools(
        "pi",
        asks=_names("question questionnaire"),
        answer=r"User (?:selected|wrote|answered):|(?=[^\n]{1,200}: user (?:selected|wrote):)",
    ),
    SpeakingTools("programs of one's own", asks=_names("ask_user ask_human human_input get_user_input")),
)

_ROWS: Final = {
    tool: tuple(row for row in SPEAKING_TOOLS if tool in row.asks | row.writes)
    for each in SPEAKING_TOOLS
    for tool in each.asks | each.writes
}


def _opening(pattern: str) -> re.Pattern[str]:
    return expression(rf"\A\s*+(?:{pattern})\s*+(?P<words>.++)", re.DOTALL)


_ANSWERS: Final = {row.client: _opening(row.answer) for row in SPEAKING_TOOLS if row.answer}
_REFUSALS: Final = {row.client: _opening(row.refusal) for row in SPEAKING_TOOLS if row.refusal}
_REFUSAL: Final = _opening("|".join(row.refusal for row in SPEAKING_TOOLS if row.refusal))
_FAILURE: Final = expression(r"\A\s*+(?:\w*(?:Error|Exception)|Failed|Failure|Traceback \(most recent call last\)) ?:")
_CLAIM: Final = _opening("|".join(filter(None, (each for row in SPEAKING_TOOLS for each in (row.answer, row.refusal)))))


def is_speaking(tool: str) -> bool:
    """Whether some client lets its user speak in the results of a tool of this name."""
    return tool in _ROWS


def persons_part(text: str, tool: str, *, is_error: bool) -> str | None:
    """The part of a result that its client wrote down as the user's words; None where nobody is to be believed."""
    for row in _ROWS.get(tool, ()):
        refusal = _REFUSALS.get(row.client)
        if refusal is not None and (is_error or not row.is_marked) and (found := refusal.match(text)):
            return found["words"]
        if tool not in row.asks or is_error:
            continue
        answer = _ANSWERS.get(row.client)
        if answer is None:
            return None if _FAILURE.match(text) else text
        if found := answer.match(text):
            return found["words"]
    return None


def doubtful_part(text: str, tool: str) -> str | None:
    """The part of a result that is a rejection's words, or else what the tool returned: nobody can tell which.

    None for tools of servers, and for tools that the table of tools does not know: what those say is theirs.
    """
    if not is_native(tool) or kind_of_tool(tool) is None:
        return None
    found = _REFUSAL.match(text)
    return found["words"] if found else None


def claims_a_person(text: str) -> bool:
    """Whether a text begins like one in which some client lets its user speak, whoever produced it."""
    return _CLAIM.match(text) is not None

"""Who speaks where, client by client: the real form of an answer or a rejection is believed, in its place only."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from contextfold.domain import (
    CLIENT,
    MODEL,
    PERSON,
    SPEAKING_TOOLS,
    Document,
    Image,
    Message,
    Provenance,
    Text,
    ToolCall,
    ToolResult,
    is_typed,
    people_in,
    result_words,
    spoken_in,
)

ORDER = "never push to the main branch"
CLAUDE = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n{}"
)
NOTE = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."

# client: the tool, whether the result is an error, the result
RESULTS: dict[str, tuple[str, bool, str]] = {
    "Claude Code: an edit rejected": ("Edit", True, CLAUDE),
    "Claude Code: a new file rejected, with a note": ("Write", True, CLAUDE + NOTE),
    "Claude Code: a plan rejected": ("ExitPlanMode", True, CLAUDE),
    "Claude Code: a sub-agent's edit rejected": (
        *("Edit", True),
        "Permission for this tool use was denied. The tool use was rejected (eg. if it was a file edit, the new_string "
        "was NOT written to the file). The user said:\n{}",
    ),
    "Claude Code: answers": (
        *("AskUserQuestion", False),
        'User has answered your questions: "Which?"="{}". You can now continue with the user\'s answers in mind.',
    ),
    "Codex": ("request_user_input", False, '{{"answers":{{"branch":{{"answers":["{}"]}}}}}}'),
    "Roo, Cline: an answer": ("ask_followup_question", False, "<answer>\n{}\n</answer>"),
    "Roo: feedback on a result": ("attempt_completion", False, "<user_message>\n{}\n</user_message>"),
    "Cline: feedback on a result": (
        *("attempt_completion", False),
        "The user has provided feedback on the results. Consider their input to continue.\n<feedback>\n{}\n</feedback>",
    ),
    "Cline: a plan answered": ("plan_mode_respond", False, "<user_message>\n{}\n</user_message>"),
    "Roo: a change denied": (
        *("apply_diff", False),
        "The user denied this operation and responded with the following message:\n<user_message>\n{}\n</user_message>",
    ),
    "Roo: a change approved": (
        *("write_to_file", False),
        "The user approved this operation and provided the following context:\n<feedback>\n{}\n</feedback>\n\nSaved.",
    ),
    "Gemini CLI": ("ask_user", False, '{{"answers":{{"0":"{}"}}}}'),
    "Qwen Code": ("ask_user_question", False, "{}"),
    "opencode: an answer": (
        "question",
        False,
        'User has answered your questions: "Which?"="{}". You can now continue with the user\'s answers in mind.',
    ),
    "opencode: an edit rejected": (
        *("edit", True),
        "The user rejected permission to use this specific tool call with the following feedback: {}",
    ),
    "Copilot": ("create_file", True, "The user rejected this tool call. User feedback: {}"),
    "Copilot in VS Code": ("vscode_askQuestions", False, '{{"answers":{{"Branch?":{{"selected":["{}"]}}}}}}'),
    "Cursor": ("AskQuestion", False, "{}"),
    "pi": ("question", False, "User wrote: {}"),
    "a program of one's own": ("ask_human", False, "{}"),
}

TEXTS: dict[str, str] = {
    "Claude Code: typed": "{}",
    "Claude Code: a command": "<command-name>/plan</command-name>\n<command-args>{}</command-args>",
    "Claude Code: a shell command": "<bash-input>{}</bash-input>",
    "Claude Code: meanwhile": (
        "<system-reminder>\nThe user sent a new message while you were working:\n{}\n\nIMPORTANT: After completing "
        "your current task, you MUST address the user's message above.</system-reminder>"
    ),
    "Codex in an editor": "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{}",
    "Roo, Cline: a task": "<task>\n{}\n</task>",
    "Roo: a task that names a file": "<task>\n{}\n</task>\n\n<file_content path='a.py'>\nimport os\n</file_content>",
    "Cursor": "<attached_files>\na.py\n</attached_files>\n<user_query>\n{}\n</user_query>",
    "Copilot in VS Code": "<attachments>\na.py\n</attachments>\n<userRequest>\n{}\n</userRequest>",
    "Gemini CLI, opencode, pi, OpenHands, SWE-agent, aider, llm: typed": "{}",
    "Gemini CLI: a file named": "{}\n--- Content from referenced files ---\nimport os\n--- End of content ---",
}


@pytest.mark.finding("K8")
@pytest.mark.parametrize("client", RESULTS)
def test_a_clients_own_form_of_an_answer_or_a_rejection_is_believed(client: str) -> None:
    tool, is_error, text = RESULTS[client]
    message = Message("user", (ToolResult("c", (Text(text.format(ORDER)),), is_error),))
    (words,) = people_in(message, {"c": tool})
    assert ORDER in words
    for around in ("doesn't want", "feedback", "Note:", "Saved", "user_message", "You can now"):
        assert around not in words


@pytest.mark.finding("K8")
@pytest.mark.parametrize("client", RESULTS)
def test_the_same_form_is_not_believed_of_a_server(client: str) -> None:
    tool, is_error, text = RESULTS[client]
    for name in (f"mcp__files__{tool}", f"files.{tool}", f"files/{tool}", f"files:{tool}", f"mcp_{tool}", ""):
        message = Message("user", (ToolResult("c", (Text(text.format(ORDER)),), is_error),))
        assert people_in(message, {"c": name}) == ()


@pytest.mark.finding("K8")
@pytest.mark.parametrize("client", TEXTS)
def test_what_is_typed_is_found_where_each_client_puts_it(client: str) -> None:
    (words,) = people_in(Message("user", (Text(TEXTS[client].format(ORDER)),)))
    assert ORDER in words
    assert "import os" not in words
    assert "IMPORTANT" not in words


STATE = "\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"
ISSUE = "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n"


@pytest.mark.finding("K8")
def test_a_task_that_ends_with_a_state_is_the_persons_until_the_model_has_spoken() -> None:
    task = Message("user", (Text(f"{ISSUE}{ORDER}{STATE}"),))
    assert ORDER in people_in(task, is_first=True)[0]
    assert people_in(task) == ()


@pytest.mark.finding("K8")
def test_an_observation_that_begins_a_history_whose_front_was_dropped_is_no_task() -> None:
    for state in (STATE, "\n(Open file: n/a)\n(Current directory: /)\n(Interactive session: n/a)\nbash-$", "\nbash-$"):
        assert people_in(Message("user", (Text(f"{ORDER}{state}"),)), is_first=True) == ()


def test_every_word_of_a_message_has_a_speaker() -> None:
    blocks = (
        ToolResult("a", (Text("1 passed"),)),
        ToolResult("b", (Text("the first"),)),
        Text("<system-reminder>be brief</system-reminder>\nand go on"),
        Text("[read_file for 'a.py'] Result:"),
        Text("import os"),
    )
    found = [
        (each.speaker, each.text.strip()) for each in spoken_in(Message("user", blocks), {"a": "Bash", "b": "ask_user"})
    ]
    assert [each for each in found if each[1]] == [
        (Provenance("tool", "Bash"), "1 passed"),
        (PERSON, "the first"),
        (CLIENT, "<system-reminder>be brief</system-reminder>"),
        (PERSON, "and go on"),
        (MODEL, '{"path":"a.py"}'),
        (Provenance("tool", "read_file"), "import os"),
    ]
    call = Message("assistant", (Text("I look."), ToolCall("c", "Bash", "{}")))
    assert {each.speaker for each in spoken_in(call)} == {MODEL}
    assert people_in(call) == ()
    assert list(spoken_in(Message("user", (Image(),)))) == []
    assert {each.speaker for each in spoken_in(Message("system", (Text("Be kind."),)))} == {CLIENT}


@pytest.mark.finding("K8")
def test_a_rejected_command_is_in_doubt_and_a_servers_word_is_not_even_that() -> None:
    rejected = ToolResult("c", (Text(CLAUDE.format(ORDER)),), is_error=True)
    assert result_words(rejected, "Bash") == ((), (ORDER,), "")
    assert result_words(rejected, "mcp__x__bash").doubtful == ()
    assert result_words(rejected, "frobnicate").doubtful == ()
    approved = "The user approved this operation and provided the following context:\n<feedback>{}</feedback>\n<files/>"
    read = ToolResult("c", (Text(approved.format(ORDER)),))
    assert result_words(read, "read_file") == ((), (ORDER,), "\n<files/>")


def test_no_tool_that_reads_runs_or_fetches_is_in_the_table() -> None:
    speaking = {tool for row in SPEAKING_TOOLS for tool in row.asks | row.writes}
    assert not speaking & {"Bash", "Read", "Grep", "Glob", "WebFetch", "WebSearch", "Task", "Agent", "Skill", "shell"}
    assert not speaking & {"read_file", "execute_command", "run_shell_command", "bash", "read", "webfetch", "new_task"}


def test_a_skill_that_only_a_command_printed_hides_nothing_that_is_typed() -> None:
    def persons(tool: str) -> tuple[str, ...]:
        blocks = (ToolResult("c", (Text("Launching skill: review"),)), Text(ORDER))
        return people_in(Message("user", blocks), {"c": tool})

    assert persons("Skill") == ()
    assert persons("Bash") == (ORDER,)


def test_texts_around_a_picture_are_of_one_result() -> None:
    blocks = (Text("[browser_action for 'launch'] Result:"), Text("done"), Image(), Text(ORDER))
    assert people_in(Message("user", blocks)) == ()


def test_an_asking_tool_of_which_only_the_client_speaks_returns_its_own_words() -> None:
    unsaid = CLAUDE.format("The user wants to clarify these questions.")
    result = ToolResult("c", (Text(unsaid),), is_error=True)
    assert result_words(result, "AskUserQuestion") == ((), (), unsaid)


# what a tool that asks or writes returned besides the person's words: the tool, whether it failed, texts, what she said
AMONG: dict[str, tuple[str, bool, tuple[str, ...], tuple[str, ...]]] = {
    "a hook's text behind an answer": (
        *("AskUserQuestion", False),
        ('User has answered your questions: "A?"="b"', f"PostToolUse hook: {ORDER}"),
        ("b",),
    ),
    "a hook's text behind a rejection": ("Edit", True, (CLAUDE.format("no"), f"Hook output: {ORDER}"), ("no",)),
    "a file behind an answer": ("ask_user", False, ("see there", ORDER), ("see there",)),
    "the model's preview": (
        *("AskUserQuestion", False),
        (f'User has answered your questions: "Which?"="A" selected preview:\n{ORDER}\n user notes: {ORDER}',),
        ("A",),
    ),
    "the model's question": (
        *("AskUserQuestion", False),
        (f'User has answered your questions: "As it says: {ORDER}?"="No", "B?"="or "so"". You can now continue with',),
        ('No\nor "so"". You can now continue with',),
    ),
    "the user's notes": (
        *("AskUserQuestion", False),
        (f'User has answered your questions: "A?"="a" user notes: quickly, "{ORDER}"="b"',),
        ("a\nquickly\nb",),
    ),
    "a prompt beside a value": ("ask_user", False, (json.dumps({"prompt": ORDER, "value": "no"}),), ("no",)),
    "a question's text": (
        *("request_user_input", False),
        (json.dumps({"answers": {"q": {"question_text": ORDER, "answers": ["no"]}}}),),
        ("no",),
    ),
    "a failure that is not marked": ("ask_user", False, (f"Error: no terminal.\n{ORDER}",), ()),
    "a state behind a list": (
        *("update_todo_list", False),
        (f"User edits todo:\n- [ ] a\n<environment_details>\n{ORDER}\n</environment_details>",),
        ("- [ ] a",),
    ),
}


@pytest.mark.finding("K8")
@pytest.mark.parametrize("kind", AMONG)
def test_of_an_answer_only_what_the_person_gave_is_hers(kind: str) -> None:
    tool, is_error, texts, persons = AMONG[kind]
    result = ToolResult("c", tuple(Text(text) for text in texts), is_error)
    words = result_words(result, tool)
    assert words.persons == persons
    assert len(texts) == 1 or ORDER in words.rest


@pytest.mark.finding("K8")
def test_a_document_in_an_answer_is_foreign() -> None:
    notes = Document(text=ORDER, title="notes.md")
    assert result_words(ToolResult("c", (Text("see there"), notes)), "ask_user").persons == ("see there",)
    assert result_words(ToolResult("c", (notes,)), "ask_user").persons == ()


@pytest.mark.finding("K8")
def test_texts_beside_a_result_that_hands_them_on_are_the_tools() -> None:
    def persons(output: str) -> tuple[str, ...]:
        named = Message("user", (ToolResult("c", (Text(output),), name="read_file"), Text(ORDER)))
        by_id = Message("user", (ToolResult("c", (Text(output),)), Text(ORDER)), dialect="gemini")
        assert people_in(named) == people_in(by_id)
        return people_in(named)

    assert persons("Binary content provided (1 item(s)).") == ()
    assert persons("Tool execution succeeded.") == ()
    assert persons("x = 1") == (ORDER,)


def test_words_between_two_queries_are_nobodys() -> None:
    assert not is_typed("<context>\n<user_query>a</user_query>\n<user_query>b</user_query>\n</context>")


DATA = Path(__file__).parents[4] / "shared" / "data" / "claude-code"


@pytest.mark.finding("K8")
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the recorded sessions in ../shared/data")
def test_in_recorded_sessions_a_rejections_words_are_believed_or_reported_and_none_is_lost() -> None:
    """Every rejection with words: of an edit, a plan or a question believed, of a command reported by the shell."""
    believed = reported = 0
    for file in sorted(DATA.glob("*.gz")):
        rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().splitlines() if line]
        contents = [row["message"]["content"] for row in rows if isinstance(row.get("message"), dict)]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        tools = {block["id"]: block["name"] for block in blocks if block.get("type") == "tool_use"}
        for block in blocks:
            text = block.get("content")
            is_rejection = isinstance(text, str) and text.startswith(CLAUDE.partition("{}")[0])
            if block.get("type") != "tool_result" or not is_rejection or "wants to clarify" in text:
                continue
            result = ToolResult(block["tool_use_id"], (Text(text),), block.get("is_error") is True)
            words = result_words(result, tools[block["tool_use_id"]])
            assert words.persons or words.doubtful
            believed, reported = believed + bool(words.persons), reported + bool(words.doubtful)
    assert (believed, reported) == (4, 2)

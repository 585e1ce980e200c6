"""A digest read as its reader would: orders first, each section with room of its own, nothing twice, nothing stale."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfold.domain import Block, Message, Text, ToolCall, ToolResult
from contextfold.summaries import SourceMessage, SummaryRequest, digest
from contextfold.summaries.lines import outcome_in, telling, terms_in
from contextfold.summaries.passages import Topic
from contextfold.summaries.texts import wording

from .counting import count


def page(said: Iterable[Message], budget: int, language: str = "en") -> str:
    sources = tuple(SourceMessage(seq, message) for seq, message in enumerate(said, 1))
    text = digest(SummaryRequest(sources, budget=budget, language=language), count)  # type: ignore[arg-type]
    assert count(text) <= budget
    return text


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def ran(number: int, command: str, output: str, words: str = "", *, failed: bool = False) -> list[Message]:
    said: list[Block] = [Text(words)] if words else []
    call = ToolCall(f"c{number}", "bash", json.dumps({"command": command}))
    result = ToolResult(f"c{number}", (Text(output),), failed)
    return [Message("assistant", (*said, call)), Message("user", (result,))]


def sections(text: str, language: str = "en") -> dict[str, list[str]]:
    names = {f"## {heading}": name for name, heading in wording(language).headings.items()}  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}
    current = ""
    for line in text.splitlines():
        if line in names:
            current = names[line]
        else:
            found.setdefault(current, []).append(line)
    return found


ORDERS = ("Never touch the vendored files.", "Always keep a backup beside each copy.")


@pytest.mark.finding("Q2")
def test_thirty_alike_outputs_leave_the_orders_and_are_told_once() -> None:
    said = [user(ORDERS[0])]
    for number in range(30):
        lines = "\n".join(f"file_{number}_{part}.py copied in {part * 7 % 5} ms" for part in range(40))
        said += ran(number, f"copy --batch {number}", lines)
        if number == 4:
            said.append(user(ORDERS[1]))
    text = page(said, 1_500)
    assert all(order in text for order in ORDERS)
    copied = [line for line in text.splitlines() if " copied in " in line]
    assert len(copied) <= 3
    assert any("more like it)" in line for line in copied)


@pytest.mark.finding("Q2")
def test_one_call_never_takes_more_than_a_third() -> None:
    output = "\n".join(f"src/{word}_module.py: def {word}_handler(request_{word}): ..." for word in WORDS)
    said = [user("Find the handlers."), *ran(0, "rg handler", output), *ran(1, "ls", "README.md\nsrc/main_entry.py")]
    lines = sections(page(said, 900))["commands"]
    first = [line for line in lines if line.startswith("- src/") and "handler" in line]
    assert first
    assert sum(count(line) + 1 for line in first) <= 300


WORDS = [
    f"{a}{b}" for a in ("alpha", "bravo", "delta", "gamma", "omega", "sigma") for b in ("one", "two", "six", "ten")
] * 3


@pytest.mark.finding("Q9")
def test_a_digest_says_how_the_last_check_ended_and_what_fails_still() -> None:
    said = [
        user("Make the parser accept tabs."),
        *ran(0, "pytest tests", "E  TypeError\n3 failed, 40 passed in 2.1s", "Running the tests.", failed=True),
        *ran(1, "cargo build", "error[E0432]: unresolved import `tabs`", failed=True),
        *ran(2, "pytest tests", "43 passed in 2.0s", "The tabs were read as spaces, so I widened the scanner."),
        Message("assistant", (Text("All tests pass. Next I mend the build: the import of tabs is missing."),)),
    ]
    work = sections(page(said, 1_500))["work"]
    assert any("pytest tests → ok: 43 passed" in line for line in work)
    assert any("cargo build → failed: error[E0432]" in line for line in work)
    assert not any("3 failed" in line for line in work), "it was mended since"
    assert "Next I mend the build" in work[-1]
    japanese = sections(page(said, 1_500, "ja"), "ja")["work"]
    assert any("43 passed" in line for line in japanese)


@pytest.mark.parametrize(
    ("output", "failed", "outcome"),
    [
        ("collected\n....\n12 passed in 3s\n", False, "12 passed in 3s"),
        ("FAIL\tpkg/a\t0.1s\nFAIL", True, "FAIL\tpkg/a\t0.1s"),
        ("Traceback\nValueError: no such key", True, "ValueError: no such key"),
        ("FAIL\tpkg/b\t0.1s\nok  \tpkg/c\t(cached)", True, "FAIL\tpkg/b\t0.1s"),
        ("main.go:3: undefined: tabs\nok  \tpkg/c\t(cached)", True, "main.go:3: undefined: tabs"),
        ("10 failed, 2 passed\n12 tests, 0 failed", True, "10 failed, 2 passed"),
        ("ok  \tpkg/c\t(cached)", True, "ok  \tpkg/c\t(cached)"),
        ("just words", True, ""),
        ("error: gone", False, ""),
        ("x" * 300 + " 3 passed", False, ""),
    ],
)
def test_an_output_tells_how_it_ended_in_its_own_words(output: str, failed: bool, outcome: str) -> None:
    assert outcome_in(output, failed=failed) == outcome


def test_few_commands_are_told_and_waiting_ones_are_not() -> None:
    commands = [Topic(f"$ step{n} go", is_file=False, order=n, failed=True, outcome="error") for n in range(9)]
    commands.append(Topic("$ other", is_file=False, order=9, failed=True, answered=False, outcome="error"))
    assert [topic.order for topic in telling(commands)] == [6, 7, 8]


@pytest.mark.finding("Q9")
def test_what_the_user_said_stands_in_the_order_of_time_and_pastes_are_shortened() -> None:
    trace = "\n".join(f"    at parse{n} (/app/src/parser_{n}.js:{n}:7)" for n in range(60))
    said = [
        user(f"It crashed with this, please mend it:\n{trace}\nDo not change the tests."),
        *ran(0, "node app", "ok"),
        user("No, keep the old exit code instead."),
    ]
    lines = sections(page(said, 900))["requests"]
    assert "please mend it:" in lines[0]
    assert any("Do not change the tests." in line for line in lines)
    assert "No, keep the old exit code instead." in lines[-1]
    assert sum("at parse" in line for line in lines) < 20


@pytest.mark.finding("Q1")
@pytest.mark.parametrize(
    "task",
    [
        "<command-message>plan</command-message><command-name>/plan</command-name>\n<command-args>{}</command-args>",
        "{}",
    ],
    ids=["a command", "a message"],
)
def test_what_was_asked_for_first_stays_however_much_is_ordered_later(task: str) -> None:
    wish = (
        "how could two agents that know nothing of each other write one design together while both of them stay "
        "in their own checkout and neither waits for long"
    )
    later = [each for number in range(60) for each in (user(f"Please keep rule {number}."), *ran(number, "ls", "ok"))]
    told = "\n".join(sections(page([user(task.format(wish)), *later], 800))["requests"])
    assert wish in told
    assert "Please keep rule 59." in told


@pytest.mark.finding("Q9")
def test_the_fences_around_pasted_code_take_no_room() -> None:
    plan = "Please change the signature:\n```go\nfunc Restore() error\n```\nThen run the linter."
    lines = sections(page([user(plan), *ran(0, "ls", "main.go")], 900))["requests"]
    assert not any("```" in line for line in lines)
    assert any("Then run the linter." in line for line in lines)


@pytest.mark.finding("Q9")
def test_what_an_edit_replaced_is_not_told_as_a_fact() -> None:
    before, after = "timeout_seconds = read_config('timeout')", "timeout_millis = read_config('timeout_ms')"
    edit = json.dumps({"file_path": "src/settings.py", "old_string": before, "new_string": after})
    said = [
        user("Use milliseconds."),
        Message("assistant", (ToolCall("r", "read_file", '{"file_path":"src/settings.py"}'),)),
        Message("user", (ToolResult("r", (Text(f"import config\n{before}\n"),)),)),
        Message("assistant", (ToolCall("e", "edit_file", edit),)),
        Message("user", (ToolResult("e", (Text("edited"),)),)),
    ]
    text = page(said, 400)
    assert after in text
    assert before not in text


@pytest.mark.finding("Q9")
def test_noise_is_no_name() -> None:
    assert terms_in("<path d=M707V19a2,33h4L12c9 />") == set()
    assert {term.key for term in terms_in("utf8mb4 HTTP2Server v2beta1")} == {"utf8mb4", "HTTP2Server", "v2beta1"}


orders = st.lists(st.integers(0, 9_999), min_size=1, max_size=12, unique=True)


@pytest.mark.finding("Q2")
@settings(max_examples=25, deadline=None)
@given(orders, st.integers(600, 4_000), st.integers(1, 12))
def test_orders_survive_any_budget_that_holds_them_and_every_section_has_room(
    numbers: list[int], budget: int, calls: int
) -> None:
    said = [user(f"Please keep rule {number} for the importer.") for number in numbers]
    for number in range(calls):
        output = "\n".join(
            f"value_{number}_{line} = compute_{line}(state_{number}, '{line}.cfg')" for line in range(80)
        )
        said += ran(number, f"make part{number}", output, f"The cause was a stale cursor, hence attempt {number}.")
        call = ToolCall(f"f{number}", "read_file", json.dumps({"file_path": f"src/part_{number}.py"}))
        said += [Message("assistant", (call,)), Message("user", (ToolResult(f"f{number}", (Text(output),)),))]
    todos = json.dumps({"todos": [{"content": "mend the importer", "status": "pending"}]})
    said += [Message("assistant", (ToolCall("t", "TodoWrite", todos),)), Message("assistant", (Text("Going on."),))]
    found = sections(page(said, budget))
    assert {"requests", "plan", "files", "decisions", "work"} <= found.keys()
    wanted = [f"Please keep rule {number} for the importer." for number in numbers]
    if sum(count(order) + 8 for order in wanted) <= budget // 2:
        told = "\n".join(found["requests"])
        assert all(order in told for order in wanted)


REASONS = [
    f"So it was the {a}{b}er that held it up all day, and not the copy as we had said, for it was late in both of them."
    for a in ("brin", "clov", "drap", "fost", "glim", "harv")
    for b in ("ust", "ell", "ock", "and", "ism")
]


@pytest.mark.finding("Q3")
def test_reasons_the_model_gave_have_room_beside_hundreds_of_names() -> None:
    said = [user("Find out why the copies differ.")]
    for number, reason in enumerate(REASONS):
        tag = reason.split()[4]
        lines = "\n".join(f"{word}_{tag} = measure_{tag}({word}_store, limit)" for word in WORDS[:24])
        said += ran(number, f"python measure_{number}.py", lines, reason)
    text = page(said, 3_000)
    assert sum(reason in text for reason in REASONS) >= 28
    assert text.count(" = measure_") >= 40

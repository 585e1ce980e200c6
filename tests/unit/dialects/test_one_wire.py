"""Nothing outside the rooms of wire formats knows one by its name or fields, so that a new one touches no other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold
from contextfold import dialects

SRC = Path(contextfold.__file__).parent

# Rooms that are about wire formats: they write them, call them, read recordings in them, or check them. A profile of a
# model says in which format it is spoken to.
ROOMS = ("dialects", "providers", "transcripts", "testing", "models")

# What else may name one, and why.
ALLOWED = {
    "adk.py": "the framework's own messages are in one provider's format",
    "litellm.py": "which of a proxy's calls is written in which format",
    "openhands.py": "the format that OpenHands writes its messages in, and a field of its model",
    "openai_agents.py": "the framework's own items are in one provider's format",
    "pydantic_ai.py": "the framework's own definitions of tools have a field of that name",
    "cli/base_urls.py": "the variables that name a provider's address",
    "cli/client_settings.py": "the provider whose address an agent's own files name",
    "cli/redirection.py": "the addresses that a wrapped program is told, by provider",
    "session/telemetry.py": "a provider's name as OpenTelemetry spells it",
    "summaries/checks.py": "the words of all providers for why an answer ended, and calls written out as text",
    "toolbox/__init__.py": "exports a function that is called like a wire field",
    "toolbox/tool.py": "definitions of tools are written in one form, which every dialect reads",
    "toolbox/enforcement.py": "a single call, in whatever form an SDK hands it out, before it is part of any message",
}

FIELDS = {
    *("max_output_tokens", "max_completion_tokens", "maxOutputTokens", "generationConfig", "systemInstruction"),
    *("cache_control", "prompt_cache_breakpoint", "ephemeral", "previous_response_id", "context_management"),
    *("tool_calls", "tool_use", "tool_use_id", "tool_call_id", "function_call", "functionCall", "functionResponse"),
    *("input_schema", "functionDeclarations", "block_binding", "input_text", "output_text", "redacted_thinking"),
    *("cache_read_input_tokens", "cache_creation_input_tokens", "prompt_tokens_details", "promptTokenCount"),
    *("candidates", "usageMetadata"),
}


def files() -> list[Path]:
    found = sorted(SRC.rglob("*.py"))
    return [file for file in found if file.relative_to(SRC).parts[0] not in ROOMS]


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string of a module that is not one of its docstrings."""
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def told(file: Path) -> list[str]:
    """What a file says of wire formats."""
    names = {*dialects.names(), *FIELDS}
    found = strings(ast.parse(file.read_text("utf-8")))
    return [f"{line}: {text}" for line, text in found if text.partition(":")[0] in names]


@pytest.mark.finding("H3")
def test_no_wire_format_is_named_outside_the_rooms_that_are_about_them() -> None:
    found = {file.relative_to(SRC).as_posix(): said for file in files() if (said := told(file))}
    assert {name: said for name, said in found.items() if name not in ALLOWED} == {}
    assert set(ALLOWED) == set(found), "an exception that nobody needs any more"


@pytest.mark.finding("H3")
def test_a_dialect_is_one_protocol_and_nobody_asks_what_else_it_can_do() -> None:
    for file in [*files(), *(SRC / "dialects").rglob("*.py")]:
        tree = ast.parse(file.read_text("utf-8"))
        asked = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _asks_a_dialect(node)]
        assert asked == [], f"{file.name} asks by getattr or isinstance what a dialect can do"


def _asks_a_dialect(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Name) or call.func.id not in ("getattr", "hasattr", "isinstance") or not call.args:
        return False
    asked = call.args[0]
    name = asked.attr if isinstance(asked, ast.Attribute) else asked.id if isinstance(asked, ast.Name) else ""
    return name in ("dialect", "_dialect", "wire")


@pytest.mark.finding("H5")
def test_no_class_of_the_dialects_has_the_name_of_another_in_the_house() -> None:
    defined: dict[str, list[str]] = {}
    for file in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(file.relative_to(SRC).as_posix())
    ours = {name: places for name, places in defined.items() if any(each.startswith("dialects/") for each in places)}
    assert len(ours) > 30
    assert {name: places for name, places in ours.items() if len(places) > 1} == {}

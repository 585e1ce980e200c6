"""What is deferred is there when it is used, once, and not before."""

import re
import subprocess
import sys

import pytest

from contextfold.deferred import deferred, expression

# What a session that only speaks never uses, and what took most of the time of its import.
LATE = (
    "asyncio",
    "importlib.metadata",
    "subprocess",
    "contextfold.providers",
    "contextfold.transcripts",
    "contextfold.store.takeover",
    "contextfold.session.export",
    "contextfold.dialects.gemini",
    "contextfold.dialects.openai_responses",
)


def in_a_fresh_interpreter(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.finding("P11")
def test_naming_a_session_imports_nothing_that_most_sessions_never_use() -> None:
    code = f"import contextfold, sys; contextfold.Session; print([name for name in {LATE} if name in sys.modules])"
    assert in_a_fresh_interpreter(code) == "[]"


def test_a_deferred_module_is_imported_by_its_first_use() -> None:
    code = (
        "import sys; from contextfold.deferred import deferred; module = deferred('colorsys'); "
        "before = 'colorsys' in sys.modules; module.rgb_to_hsv(0, 0, 0); print(before, 'colorsys' in sys.modules)"
    )
    assert in_a_fresh_interpreter(code) == "False True"


def test_what_is_taken_from_a_deferred_module_is_the_modules_own() -> None:
    assert deferred("re").Pattern is re.Pattern


def test_a_deferred_module_refuses_what_the_module_has_not() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = deferred("re").no_such_thing


def test_a_module_that_does_not_exist_is_told_when_it_is_used() -> None:
    module = deferred("contextfold.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = module.anything


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "findall", "sub", "split", "pattern", "flags"])
def test_a_deferred_pattern_has_the_methods_of_the_compiled_one(method: str) -> None:
    text, flags = r"(a)b?", re.IGNORECASE
    ours, theirs = getattr(expression(text, flags), method), getattr(re.compile(text, flags), method)
    assert ours == theirs


def test_a_deferred_pattern_finds_what_the_compiled_one_finds() -> None:
    assert expression(r"\d+").findall("7 and 42") == ["7", "42"]
    assert expression(rb"\d+").sub(b"n", b"7 and 42") == b"n and n"


def test_a_pattern_that_is_none_is_told_when_it_is_used() -> None:
    broken = expression("(")
    with pytest.raises(re.error):
        broken.search("")

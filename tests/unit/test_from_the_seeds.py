"""The page "From the seeds to the code": every example on it is true, both languages agree, and no name is missing."""

import ast
import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
LIMIT = "CONTEXTFOLD_MAX_INPUT_TOKENS"
NOTHING = "—"


@dataclass(frozen=True)
class Row:
    """One line of a table: what a seed calls something, what it is here, and a line that is true."""

    place: int
    seed: str
    here: str
    example: str

    def __str__(self) -> str:
        return f"{self.place}-{re.sub(r'[^A-Za-z0-9]+', '-', self.seed)[:40].strip('-')}"


def page(language: str) -> str:
    return (DOCS / f"from-the-seeds{'' if language == 'en' else '.' + language}.md").read_text()


def rows(language: str) -> list[Row]:
    lines = [line for line in page(language).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    found = [each for each in cells if each[2] not in ("try it", "試す")]
    assert all(len(each) == 3 for each in found)
    return [Row(place, seed, here, example) for place, (seed, here, example) in enumerate(found)]


def spans(text: str) -> list[str]:
    """What is written as code, in no order: languages differ in theirs."""
    return sorted(re.findall(r"`([^`]+)`", text))


def setup(language: str) -> str:
    (block,) = re.findall(r"```python\n(.*?)```", page(language), re.DOTALL)
    return str(block)


def run(name: str, statements: list[str], names: dict[str, Any], want: str = "") -> dict[str, Any]:
    """Run statements one by one as a session at the prompt would; fails with what they printed instead."""
    examples = [doctest.Example(statement + "\n", want) for statement in statements]
    test = doctest.DocTest(examples, names, name, None, None, None)
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)
    return test.globs


@pytest.fixture(scope="module")
def start() -> Iterator[dict[str, Any]]:
    """What every example starts from."""
    source = setup("en")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LIMIT, "")  # the page sets it; this brings the old value back
        statements = [ast.get_source_segment(source, node) or "" for node in ast.parse(source).body]
        yield run("setup", statements, {})


@pytest.mark.parametrize("row", [row for row in rows("en") if row.example != NOTHING], ids=str)
def test_every_example_is_true(row: Row, start: dict[str, Any]) -> None:
    (code,) = spans(row.example)
    assert row.example == f"`{code}`"
    run(row.seed, [code], start, "True\n")


def test_both_languages_have_the_same_rows() -> None:
    english, japanese = rows("en"), rows("ja")
    assert len(english) == len(japanese) > 200
    assert setup("en") == setup("ja")
    for one, other in zip(english, japanese, strict=True):
        assert one.example == other.example
        assert spans(one.seed) == spans(other.seed)
        assert spans(one.here) == spans(other.here), one


@pytest.mark.finding("S8")
def test_nothing_that_is_there_is_called_planned() -> None:
    assert "planned" not in page("en").lower()
    assert "予定" not in page("ja")


def test_both_languages_have_the_same_headings() -> None:
    def levels(language: str) -> list[str]:
        return re.findall(r"^(#+) ", re.sub(r"```.*?```", "", page(language), flags=re.DOTALL), re.MULTILINE)

    assert levels("en") == levels("ja")


def test_a_row_without_an_example_says_why() -> None:
    reasons = r"\bno\b|not needed|no timestamp|see |unsourced|measured|your agent|tests/|read with a warning"
    silent = [row for row in rows("en") if row.example == NOTHING and not re.search(reasons, row.here)]
    assert silent == []


# Words of the listings that name nothing of their own: language, labels of a comment, names of the loop's variables.
NOT_NAMES = re.compile(
    r"if|for|else|try|constructor|type|text|Context|Returns|Args|message|index|total|options|properties|__init__|SYSTEM"
)


def names_in(seed: str) -> set[str]:
    """Functions, classes, fields, options and constants of the listings, and the requirements in the text."""
    code = "\n".join(re.findall(r"```(?:typescript|python)\n(.*?)```", seed, re.DOTALL))
    patterns = (
        r"\b(?:function|class|interface|type|def)\s+(\w+)",
        r"^\s*(?:export\s+)?(?:private\s+|public\s+|static\s+)?(?:async\s+)?(\w+)\s*\([^()]*\)?\s*(?::[^={]*)?\{",
        r"^\s*(\w+)\??\s*:\s*[\w\"\[\]<>| .{]+",
        r"\b([A-Z][A-Z0-9]+_[A-Z0-9_]{3,})\b",
        r"self\.(\w+)\(",
    )
    found = {match for pattern in patterns for match in re.findall(pattern, code, re.MULTILINE)}
    found |= set(re.findall(r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]{3,}\b", seed)) | set(re.findall(r"\bN?FR-\d\b", seed))
    return {name for name in found if name.isascii() and not NOT_NAMES.fullmatch(name)}


@pytest.mark.finding("S8")
@pytest.mark.parametrize("number", ["000", "001", "002", "003", "004"])
def test_every_name_of_a_seed_is_on_the_page(number: str) -> None:
    if not SEEDS.is_dir():
        pytest.skip("The seeds are not here: expected ../shared/seeds beside the repository.")
    (path,) = SEEDS.glob(f"{number}_*.txt")
    listed = " ".join(row.seed for row in rows("en"))
    missing = sorted(name for name in names_in(path.read_text()) if not re.search(rf"\b{re.escape(name)}\b", listed))
    assert missing == []

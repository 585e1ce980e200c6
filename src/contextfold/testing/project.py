"""An imaginary code base for generated sessions: files that can be read, searched, changed and tested.

It exists in memory only and answers as a real one would: what was edited is read changed, a failing test shows the
line it failed at. It never touches a disk and runs nothing.

What tools print in generated sessions: test runs, logs, tables, differences.

Long and mostly dull, as tool output is: this is what fills a context window.
"""

from __future__ import annotations

import json
from random import Random

from msgspec import Struct

from .phrases import NOUNS, PHRASES, Language

REGIONS = ("tokyo", "osaka", "berlin", "lisbon", "oslo")


def run_of_tests(random: Random, project: Project, place: CodePlace, *, fails: bool) -> str:
    """A test run with its dots, and a traceback that points into the project when it fails."""
    path, total = project.tests_of(place), random.randrange(180, 420)
    failed = 1 if fails else 0
    lines = [
        "============================= test session starts ==============================",
        f"platform linux -- Python 3.12.4, pytest-8.3.2\nrootdir: shop\ncollected {total} items\n",
    ]
    for tested in project.paths("tests/"):
        dots = "." * random.randrange(18, 50)
        lines.append(f"{tested} {dots + 'F' if fails and tested == path else dots}")
    if fails:
        lines += _traceback(project, place, path)
        lines.append(
            f"FAILED {path}::test_{place.function}_keeps_the_{place.field} - shop.errors.ShopError: {place.code}"
        )
    seconds = random.randrange(400, 9000) / 100
    outcome = f"{failed} failed, {total - failed} passed" if failed else f"{total} passed"
    return "\n".join([*lines, f"================= {outcome} in {seconds:.2f}s ================="])


def _traceback(project: Project, place: CodePlace, path: str) -> list[str]:
    line = project.line_of(place)
    body = project.files[place.path][line - 1 : line + 7]
    return [
        "\n=================================== FAILURES ===================================",
        f"_______________ test_{place.function}_keeps_the_{place.field} _______________",
        f"\n{path}: in test_{place.function}_keeps_the_{place.field}",
        f"    changed = service.{place.function}({place.noun})",
        f"{place.path}:{line}: in {place.function}",
        *(f">   {text}" if number == 2 else f"    {text}" for number, text in enumerate(body)),
        f"E   shop.errors.ShopError: {place.code}: {place.noun} 4711 is past its {place.aspect}",
        "=========================== short test summary info ============================",
    ]


def server_log(random: Random, place: CodePlace) -> str:
    """The tail of a log, one line of which matters."""
    lines = []
    for number in range(random.randrange(30, 90)):
        status = random.choice((200, 200, 200, 201, 204, 304))
        lines.append(
            f"2026-03-{random.randrange(1, 29):02d}T{random.randrange(24):02d}:{random.randrange(60):02d}:07Z INFO "
            f"request id={random.randrange(16**8):08x} path=/v2/{place.noun}s/{1000 + number} status={status} "
            f"ms={random.randrange(3, 900)} region={random.choice(REGIONS)}"
        )
    wrong = f"ERROR {place.function} code={place.code} {place.field}={place.number} ticket={place.ticket}"
    lines.insert(random.randrange(len(lines)), f"2026-03-14T09:26:53Z {wrong}")
    return "\n".join(lines)


def records(random: Random, place: CodePlace) -> str:
    """What an API answered: records as indented JSON."""
    rows = [
        {"id": 4000 + number, **{field: _value(random, field) for field in FIELDS}}
        for number in range(random.randrange(6, 24))
    ]
    return json.dumps({"kind": place.noun, "count": len(rows), "items": rows}, indent=2, ensure_ascii=False)


def _value(random: Random, field: str) -> object:
    match field:
        case "amount":
            return f"{random.randrange(100, 900000) / 100:.2f}"
        case "region":
            return random.choice(REGIONS)
        case "status":
            return random.choice(("open", "closed", "late"))
        case "closed_at":
            return None
        case _:
            return random.randrange(1, 5000)


def difference(place: CodePlace, line: int, old: str, new: str) -> str:
    """A change as version control shows it."""
    removed = "\n".join(f"-{text}" for text in old.splitlines())
    added = "\n".join(f"+{text}" for text in new.splitlines())
    header = f"diff --git a/{place.path} b/{place.path}\n--- a/{place.path}\n+++ b/{place.path}"
    return f"{header}\n@@ -{line},4 +{line},5 @@ def {place.function}\n{removed}\n{added}"


LAYERS = ("models", "repository", "service", "api")
FIELDS = ("amount", "status", "region", "version", "owner_id", "closed_at")
ASPECTS = ("rounding", "proration", "approval", "expiry", "splitting", "merging", "archival", "reminders")
VERBS = ("apply", "check", "collect", "close", "split", "merge", "load", "store", "render", "price")
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")


class CodePlace(Struct, frozen=True):
    """A function in a file, with everything a phrase may want to say about it."""

    path: str
    function: str
    noun: str
    aspect: str
    field: str
    number: int
    code: str
    ticket: str

    def fill(self, phrase: str, language: Language) -> str:
        noun = PHRASES[language].nouns[self.noun]
        return phrase.format(
            path=self.path,
            function=self.function,
            noun=noun,
            aspect=self.aspect,
            field=self.field,
            number=self.number,
            code=self.code,
            ticket=self.ticket,
        )


class Project:
    """Files by path; lists of lines."""

    def __init__(self, random: Random, language: Language) -> None:
        self._random, self._language = random, language
        self.places: list[CodePlace] = []
        self.files: dict[str, list[str]] = {}
        for noun in NOUNS:
            for layer in LAYERS:
                self._write_module(noun, layer)
            self._write_tests(noun)

    def paths(self, folder: str = "") -> list[str]:
        return [path for path in self.files if path.startswith(folder)]

    def tests_of(self, place: CodePlace) -> str:
        return f"tests/test_{place.noun}.py"

    def read(self, path: str, first: int = 1, most: int = 220) -> str:
        """Numbered lines, as file tools show them."""
        lines = self.files[path][first - 1 : first - 1 + most]
        return "\n".join(f"{number:5d}\t{line}" for number, line in enumerate(lines, first))

    def search(self, word: str, most: int = 60) -> str:
        hits = [
            f"{path}:{number}:{line}"
            for path, lines in self.files.items()
            for number, line in enumerate(lines, 1)
            if word in line
        ]
        more = [f"... {len(hits) - most} more"] if len(hits) > most else []
        return "\n".join(hits[:most] + more)

    def line_of(self, place: CodePlace) -> int:
        """Where the function starts, counted from one."""
        start = f"def {place.function}("
        return next(number for number, line in enumerate(self.files[place.path], 1) if line.startswith(start))

    def change(self, place: CodePlace, language: Language) -> tuple[str, str]:
        """Rewrite the check of a function; the old and the new text."""
        lines = self.files[place.path]
        index = next(i for i in range(self.line_of(place), len(lines)) if lines[i].startswith("    if "))
        old = lines[index]
        comment = self._random.choice(PHRASES[language].comments)
        operator = self._random.choice(OPERATORS)
        new = [
            f"    # {place.fill(comment, language)}",
            f"    if {place.noun}.{place.field} {operator} {self._random.randrange(2, 9000)}:",
        ]
        lines[index : index + 1] = new
        return old, "\n".join(new)

    # -- writing it -----------------------------------------------------------------------------------------------

    def _write_module(self, noun: str, layer: str) -> None:
        path = f"src/shop/{noun}s/{layer}.py"
        title = noun.capitalize()
        lines = [
            f'"""{title}s: {layer}."""',
            "",
            "from decimal import Decimal",
            "",
            f"from shop.{noun}s import {title}",
            "",
        ]
        for number in range(self._random.randrange(7, 14)):
            place = self._place(path, noun, number)
            self.places.append(place)
            lines += ["", *self._function(place), ""]
        self.files[path] = lines

    def _place(self, path: str, noun: str, number: int) -> CodePlace:
        choose = self._random.choice
        aspect, field = choose(ASPECTS), choose(FIELDS)
        return CodePlace(
            path=path,
            function=f"{choose(VERBS)}_{noun}_{aspect}_{number}",
            noun=noun,
            aspect=aspect,
            field=field,
            number=self._random.randrange(2, 9000),
            code=f"{noun[:3].upper()}-{self._random.randrange(100, 1000)}",
            ticket=f"SHOP-{self._random.randrange(1000, 10000)}",
        )

    def _function(self, place: CodePlace) -> list[str]:
        choose, noun = self._random.choice, place.noun
        comment = place.fill(choose(PHRASES[self._language].comments), self._language)
        other = choose(FIELDS)
        return [
            f"def {place.function}({noun}: {noun.capitalize()}, limit: int = {place.number}) -> {noun.capitalize()}:",
            f'    """{comment.capitalize()}{"。" if self._language == "ja" else "."}"""',
            f"    if {noun}.{place.field} {choose(OPERATORS)} {place.number}:",
            f'        raise ShopError("{place.code}", f"{noun} {{{noun}.id}} is past its {place.aspect}")',
            f"    {other} = {noun}.{other} if limit else Decimal({self._random.randrange(1, 100)})",
            f'    logger.info("{noun}.{place.aspect}", extra={{"limit": limit, "{other}": str({other})}})',
            f"    return replace({noun}, {other}={other}, version={noun}.version + 1)",
        ]

    def _write_tests(self, noun: str) -> None:
        lines = ["import pytest", "", f"from shop.{noun}s import service", ""]
        for place in (place for place in self.places if place.noun == noun):
            lines += [
                "",
                f"def test_{place.function}_keeps_the_{place.field}() -> None:",
                f"    {noun} = make_{noun}({place.field}={place.number})",
                f"    changed = service.{place.function}({noun})",
                f"    assert changed.{place.field} == {noun}.{place.field}",
                "",
            ]
        self.files[f"tests/test_{noun}.py"] = lines

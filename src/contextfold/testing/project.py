"""An imaginary code base for generated sessions: files that can be read, searched, changed and tested.

It exists in memory only and answers as a real one would: what was edited is read changed, a failing test shows the
line it failed at. It never touches a disk and runs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .phrases import NOUNS, PHRASES, Language

LAYERS = ("models", "repository", "service", "api")
FIELDS = ("amount", "status", "region", "version", "owner_id", "closed_at")
ASPECTS = ("rounding", "proration", "approval", "expiry", "splitting", "merging", "archival", "reminders")
VERBS = ("apply", "check", "collect", "close", "split", "merge", "load", "store", "render", "price")
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True, slots=True)
class CodePlace:
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

"""Realistic agent sessions, made from a seed: the same seed gives the same session on every machine.

For tests, benchmarks and the demo. A session is one that a provider accepts as it is: every call has its result, roles
take turns. For histories that nobody would accept, see `contextfold.testing.nasty`.

A coding agent at work on an imaginary project: one task after the other, without end.

It searches, reads several files at once, edits, sometimes with an edit that does not apply, runs tests that fail before
they pass, and reports. Everything follows from the random source it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Literal, TypeAlias

from . import project
from .phrases import PHRASES, Language
from .project import CodePlace, Project
from .wire import WRITERS, Answered, Called, DialectName, Step, StepQuestion, WireMessage, Worked, words

Languages: TypeAlias = Literal["en", "ja", "mixed"]

_ID_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"


class Agent:
    """Makes steps; keeps the project it works on."""

    def __init__(self, random: Random, languages: Languages) -> None:
        self._random, self._languages = random, languages
        self._language: Language = "ja" if languages == "ja" else "en"
        self._project = Project(random, self._language)

    def steps(self) -> Iterator[Step]:
        """Tasks for ever; each begins with a wish and ends with a report."""
        while True:
            if self._languages == "mixed":
                self._language = self._random.choice(("en", "ja"))
            yield from self._task(self._random.choice(self._project.places))

    def report(self) -> Answered:
        """A way to end wherever one has to."""
        return self._answer(self._random.choice(self._project.places))

    def _task(self, place: CodePlace) -> Iterator[Step]:
        wish = self._say("wishes", place)
        yield StepQuestion(f"{wish}\n\n{self._say('rules', place)}" if self._random.random() < 0.4 else wish)
        yield self._survey(place)
        yield self._read(place)
        if self._random.random() < 0.3:
            yield self._look_outside(place)
        yield from self._fix(place)
        yield self._answer(place)
        if self._random.random() < 0.6:
            yield StepQuestion(self._say("follow_ups", place))
            if self._random.random() < 0.5:
                yield from self._fix(place)
            yield self._answer(place)

    def _fix(self, place: CodePlace) -> Iterator[Step]:
        """Edit and test until it passes; edits may miss, tests may fail."""
        if self._random.random() < 0.25:
            missing = f"    if {place.noun}.{place.field} is None:"
            arguments = {"path": place.path, "old_text": missing, "new_text": "    pass"}
            told = (
                f"old_text was not found in {place.path}. Read the file again; it must match exactly, spaces included."
            )
            said = self._say("changes", place)
            yield Worked("", said, (self._call("edit_file", arguments, told, is_error=True),))
            yield self._read(place)
        yield self._edit(place)
        while self._random.random() < 0.4:
            yield self._test(place, fails=True)
            yield self._edit(place)
        yield self._test(place, fails=False)

    # -- single steps -----------------------------------------------------------------------------------------------

    def _survey(self, place: CodePlace) -> Worked:
        listing = "\n".join([*self._project.paths(f"src/shop/{place.noun}s/"), self._project.tests_of(place)])
        calls = (
            self._call("search", {"pattern": place.function}, self._project.search(place.function)),
            self._call("search", {"pattern": f".{place.field}"}, self._project.search(f"{place.noun}.{place.field}")),
            self._call("list_files", {"folder": f"src/shop/{place.noun}s"}, listing),
        )
        return Worked(self._say("plans", place), self._say("looks", place), calls)

    def _read(self, place: CodePlace) -> Worked:
        """Whole files at once, or the lines around one place."""
        if self._random.random() < 0.35:
            first = max(1, self._project.line_of(place) - 20)
            shown = self._project.read(place.path, first, 60)
            calls = [self._call("read_file", {"path": place.path, "offset": first, "limit": 60}, shown)]
            return Worked("", self._say("looks", place), tuple(calls))
        paths = [place.path, self._project.tests_of(place), self._random.choice(self._project.paths("src/"))]
        chosen = dict.fromkeys(paths[: self._random.randrange(1, 4)])
        calls = [self._call("read_file", {"path": path}, self._project.read(path, most=120)) for path in chosen]
        return Worked(self._say("plans", place), self._say("looks", place), tuple(calls))

    def _look_outside(self, place: CodePlace) -> Worked:
        if self._random.random() < 0.5:
            command, output = "tail -n 90 var/log/shop.log", project.server_log(self._random, place)
        else:
            command, output = f"curl -s localhost:8080/v2/{place.noun}s", project.records(self._random, place)
        return Worked("", self._say("looks", place), (self._call("run", {"command": command}, output),))

    def _edit(self, place: CodePlace) -> Worked:
        line = self._project.line_of(place)
        old, new = self._project.change(place, self._language)
        arguments = {"path": place.path, "old_text": old, "new_text": new}
        done = self._call("edit_file", arguments, project.difference(place, line, old, new))
        return Worked(self._say("failures", place), self._say("changes", place), (done,))

    def _test(self, place: CodePlace, *, fails: bool) -> Worked:
        command = f"python -m pytest -q {self._project.tests_of(place)} tests"
        output = project.run_of_tests(self._random, self._project, place, fails=fails)
        return Worked("", "", (self._call("run", {"command": command}, output, is_error=fails),))

    def _answer(self, place: CodePlace) -> Answered:
        return Answered("", self._say("reports", place))

    # -- words --------------------------------------------------------------------------------------------------------

    def _say(self, kind: str, place: CodePlace) -> str:
        phrases: tuple[str, ...] = getattr(PHRASES[self._language], kind)
        return place.fill(self._random.choice(phrases), self._language)

    def _call(self, tool: str, arguments: Mapping[str, object], output: str, *, is_error: bool = False) -> Called:
        name = "".join(self._random.choice(_ID_LETTERS) for _ in range(22))
        return Called(name, tool, arguments, output or "(no output)", is_error)


# Measured with o200k on these very sessions; close for English and Japanese alike, because what is two bytes to the one
# is three to the other.
BYTES_PER_TOKEN = 3.4

SYSTEM = (
    "You are a careful engineer working in the repository of a web shop. Use the tools to read before you change, "
    "run the tests after every change, and report what you did in the user's language. Rules the user states hold "
    "until they are taken back."
)

_PARAMETERS: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("Read a text file, with line numbers.", {"path": "string", "offset": "integer", "limit": "integer"}),
    "edit_file": ("Replace text in a file.", {"path": "string", "old_text": "string", "new_text": "string"}),
    "search": ("Find lines that contain a pattern.", {"pattern": "string"}),
    "list_files": ("List the files of a folder.", {"folder": "string"}),
    "run": ("Run a shell command in the repository.", {"command": "string"}),
}


def session(
    seed: int | str = 0, *, tokens: int = 120_000, language: Languages = "mixed", dialect: DialectName = "anthropic"
) -> list[WireMessage]:
    """A coding agent's session of about this many tokens, as messages of the dialect, ending with its report."""
    return [
        message for step in session_steps(seed, tokens=tokens, language=language) for message in WRITERS[dialect](step)
    ]


def session_steps(seed: int | str = 0, *, tokens: int = 120_000, language: Languages = "mixed") -> list[Step]:
    """The same session before it is written in any format."""
    agent = Agent(Random(f"session {seed}"), language)
    size, total = tokens * BYTES_PER_TOKEN, 0
    steps: list[Step] = []
    for step in agent.steps():
        grown = total + len(words(step).encode())
        # Until one more would be further from the size than one fewer; a question and the work on it at least.
        is_enough = grown - size > size - total or (isinstance(step, StepQuestion) and grown >= size)
        if len(steps) > 1 and is_enough:
            break
        steps.append(step)
        total = grown
    if not isinstance(steps[-1], Answered):
        steps.append(agent.report())
    return steps


def tools(dialect: DialectName = "anthropic") -> list[WireMessage]:
    """Definitions of the tools that sessions use."""
    defined = []
    for name, (description, fields) in _PARAMETERS.items():
        schema = {"type": "object", "properties": {field: {"type": kind} for field, kind in fields.items()}}
        named = {"name": name, "description": description}
        tool: dict[DialectName, WireMessage] = {
            "anthropic": {**named, "input_schema": schema},
            "openai-chat": {"type": "function", "function": {**named, "parameters": schema}},
            "openai-responses": {"type": "function", **named, "parameters": schema},
            "gemini": {**named, "parametersJsonSchema": schema},
        }
        defined.append(tool[dialect])
    return [{"functionDeclarations": defined}] if dialect == "gemini" else defined

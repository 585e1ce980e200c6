"""Models that say what they are told to, and models that fail in every way real ones do.

A model here is a callable: what it is asked goes in, text comes out. `model(prompt)` is synchronous, `await
model.aio(prompt)` the same answer for asynchronous callers. Each keeps what it was asked. None of them waits, and none
uses a network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

Answer: TypeAlias = str | BaseException | Callable[[object], str]


class Scripted:
    """Answers from a script, in order; an exception in the script is raised, a callable is asked.

    When the script is at its end the last answer is given again, so that one answer does for any number of calls.
    """

    def __init__(self, *answers: Answer) -> None:
        if not answers:
            raise ValueError("A scripted model needs something to say. Pass at least one answer.")
        self._answers = answers
        self.asked: list[object] = []

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.asked)

    def __call__(self, request: object) -> str:
        answer = self._answers[min(self.calls, len(self._answers) - 1)]
        self.asked.append(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer(request) if callable(answer) else answer

    async def aio(self, request: object) -> str:
        """The same, for whoever awaits; lets others run first, as a real call would."""
        await asyncio.sleep(0)
        return self(request)


class Hanging:
    """Never answers. Only for asynchronous callers, who can time out or cancel; `cancelled` says how often they did."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.cancelled = 0

    @property
    def calls(self) -> int:
        return len(self.asked)

    async def aio(self, request: object) -> str:
        self.asked.append(request)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("nobody ever sets this event")


class Overloaded(Exception):
    """What a provider's client might raise: not one of ours, and with a message that names a secret."""

    def __init__(self) -> None:
        super().__init__("529 overloaded_error: https://api.example/v1/messages?key=sk-test-canary")


def raising(error: BaseException | None = None) -> Scripted:
    """Raises, by default like a provider under load."""
    return Scripted(error if error is not None else Overloaded())


def timing_out() -> Scripted:
    return Scripted(TimeoutError("The model did not answer in time."))


def saying_nothing() -> Scripted:
    """No text, then only white space."""
    return Scripted("", " \n\t\u3000")


def cut_off() -> Scripted:
    """Stops in the middle of a sentence, and of a list, at its output limit."""
    return Scripted(
        "## Goal\nFix the rounding of invoices.\n\n## Done\n1. Read src/shop/service.py\n2. Changed the compari"
    )


def refusing() -> Scripted:
    return Scripted(
        "I'm sorry, but I can't help with summarizing this conversation.", "申し訳ありませんが、要約できません。"
    )


def calling_a_tool() -> Scripted:
    """Goes on with the work instead of summarizing it: a tool call where text was wanted."""
    return Scripted(
        '<function_calls><invoke name="read">\n<parameter name="path">a.py</parameter>\n</invoke></function_calls>',
        '{"type":"tool_use","id":"toolu_1","name":"run","input":{"command":"ls"}}',
    )


def too_long(characters: int = 400_000) -> Scripted:
    """Far more than what it was asked to shorten."""
    line = "The user then said something that matters, and the assistant did something about it.\n"
    return Scripted(line * (characters // len(line) + 1))


def in_the_wrong_language(conversation: str = "en") -> Scripted:
    """Japanese where the conversation is English, English where it is Japanese ("ja")."""
    if conversation == "ja":
        return Scripted("The user wants the rounding of invoices to be put right; the tests pass again since noon.")
    return Scripted(
        "利用者は請求書の端数処理を直したいと考えている。テストは再びすべて通るようになり、残る作業は記録だけである。"
    )


def repeating_its_instructions() -> Scripted:
    """Gives back the beginning of what it was asked instead of an answer."""
    return Scripted(lambda request: str(request)[:2000])


FAULTY: Mapping[str, Callable[[], Scripted]] = {
    "raises": raising,
    "times out": timing_out,
    "says nothing": saying_nothing,
    "is cut off": cut_off,
    "refuses": refusing,
    "calls a tool": calling_a_tool,
    "answers too long": too_long,
    "answers in the wrong language": in_the_wrong_language,
    "repeats its instructions": repeating_its_instructions,
}

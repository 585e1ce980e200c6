"""What takes its time lets others compute: it says so often, and reads late what it can read elsewhere."""

from __future__ import annotations

from contextfold.domain import Message, Text
from contextfold.summaries import SourceMessage, Stopwatch, SummaryRequest, digest
from contextfold.summaries.coverage import resting

from .counting import count


def test_a_long_row_of_things_is_worked_on_with_rests_between_them() -> None:
    rests = 0

    def rest() -> None:
        nonlocal rests
        rests += 1

    assert list(resting(range(160), rest)) == list(range(160))
    assert rests == 10


def test_a_message_that_is_given_unread_is_read_once_and_late() -> None:
    readings = 0

    def read() -> Message:
        nonlocal readings
        readings += 1
        return Message("user", (Text("Keep parse_file as it is."),))

    source = SourceMessage(1, read)
    assert readings == 0
    request = SummaryRequest((source,), budget=400)
    assert "parse_file" in digest(request, count)
    assert source.message.text == "Keep parse_file as it is."
    assert readings == 1


def test_choosing_the_lines_of_a_digest_rests_as_often_as_reading_them() -> None:
    texts = [f"handler_{number} calls step_{number} in src/part_{number}.py" for number in range(800)]
    request = SummaryRequest((SourceMessage(1, Message("assistant", (Text("\n".join(texts)),))),), budget=600)
    rests, looks = 0, 0

    def rest() -> None:
        nonlocal rests
        rests += 1

    def clock() -> float:
        nonlocal looks
        looks += 1  # at what is read or weighed
        return 0.0

    digest(request, count, Stopwatch(clock, 1.0, rest))
    assert rests - looks > len(texts) / 16

"""Where the demo writes, and in which language."""

from __future__ import annotations

from contextfold.demo.screen import Screen, chosen, padded, shortened, width


class Terminal:
    """A stream that says it is a terminal and keeps what is written."""

    encoding = "ascii"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def test_the_language_is_the_one_asked_for_then_the_terminals() -> None:
    assert chosen("ja", {"LANG": "en_US.UTF-8"}) == "ja"
    assert chosen("en", {"LANG": "ja_JP.UTF-8"}) == "en"
    assert chosen("", {"LC_ALL": "ja_JP.UTF-8", "LANG": "C"}) == "ja"
    assert chosen("", {}) == "en"


def test_a_terminal_gets_one_bar_that_moves() -> None:
    stream = Terminal()
    screen = Screen(stream)  # type: ignore[arg-type]  # as much of a stream as a screen needs
    for done in range(0, 101, 25):
        screen.bar(done, 100, f"{done} of 100")
    screen.line("said in between")
    screen.bar(100, 100, "100 of 100")
    screen.end()
    assert stream.text.count("\n") == 1
    assert "#" * 14 + "." * 14 in stream.text  # no blocks where they cannot be shown
    assert stream.text.endswith("\r\x1b[2K")


def test_japanese_letters_take_two_columns() -> None:
    assert width("検査 ok") == 7
    assert padded("検査", 6) == "検査  "
    assert shortened("検査検査", 5) == "検査"

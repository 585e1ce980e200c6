import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfold.tokens import CLASSES
from contextfold.tokens.scale import SEALED, sealed, utf8, weigh


def amounts(text: str) -> dict[str, int]:
    found = weigh(utf8(text))
    return dict(zip(CLASSES, found + (0,) * (len(CLASSES) - len(found)), strict=True))


def slowly(text: str) -> dict[str, int]:
    """What the amounts of ASCII mean, said with regular expressions."""
    words, runs = re.findall("[A-Za-z]+", text), re.findall("[A-Za-z0-9\0\x7f]+", text)
    marks = re.findall("[.,{}_]+", text)
    return {
        "words": len(words),
        "letters": sum(max(0, len(word) - 3) for word in words),
        "capitals": len(re.findall("[A-Z]+", text)),
        "digits": len(re.findall("[0-9\0\x7f]", text)),
        "marks": len(marks),
        "signs": sum(len(run) - 1 for run in marks),
        "gaps": sum(len(run) - 1 for run in re.findall(r"[ \t\v\f]+", text)),
        "lines": len(re.findall(r"[\r\n]", text)),
        "blobs": sum(sign.isupper() for run in runs for sign in run[15:]),
    }


def test_the_order_of_classes_is_what_stored_numbers_mean() -> None:
    assert (
        *("words", "letters", "capitals", "digits", "marks", "signs", "gaps", "lines", "blobs"),
        *("latin", "greek", "cyrillic", "semitic", "indic", "other", "symbols"),
        *("kana", "han", "hangul", "forms", "emoji", "sealed"),
    ) == CLASSES


@given(st.text("abcXYZ019 \t\n.,{}_é漢😀\0\x7f", max_size=200))
def test_runs_are_counted_as_a_slow_reader_would(text: str) -> None:
    found = amounts(text)
    assert {name: found[name] for name in slowly(text)} == slowly(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("éàü", "latin"),
        ("αβγ", "greek"),
        ("где", "cyrillic"),
        ("שלו", "semitic"),
        ("กขค", "indic"),
        ("მაბ", "other"),
        ("→─…", "symbols"),
        ("かな。", "kana"),
        ("漢字学", "han"),
        ("한국어", "hangul"),
        ("ＡＢＣ", "forms"),
        ("😀🎉🚀", "emoji"),
    ],
)
def test_each_script_has_its_class(text: str, name: str) -> None:
    assert amounts(text) == {**dict.fromkeys(CLASSES, 0), name: 3}


def test_a_long_text_weighs_what_its_spans_weigh_together() -> None:
    line = "The parser reads 12 lines, twice.\n"
    once, often = amounts(line), amounts(line * 5000)
    assert often["lines"] == 5000
    assert often["words"] == pytest.approx(5000 * once["words"], rel=0.001)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "a\udfffb", "\x7f", "\x80\xff"])
def test_no_string_is_refused(text: str) -> None:
    assert all(amount >= 0 for amount in weigh(utf8(text)))


def test_trailing_zeros_are_left_out() -> None:
    assert weigh(b"hey") == (1,)
    assert weigh(b"") == ()


def test_sealed_text_weighs_by_its_length() -> None:
    assert sealed(40)[SEALED] == 40
    assert sealed(-1) == ()

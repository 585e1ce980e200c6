import pytest

from contextfold.summaries import (
    Language,
    cleared_block_text,
    cleared_text,
    covered,
    emergency_header,
    fold_notice,
    gap_text,
    offload_text,
    pruned_notice,
    summary_text,
    window_text,
)
from contextfold.summaries.wordings import ENGLISH, JAPANESE

LANGUAGES: list[Language] = ["en", "ja"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.seed("R34")
def test_a_window_marker_says_which_how_many_and_how_to_recall(language: Language) -> None:
    text = window_text(77, [(3, 40), (42, 60)], 57, language)
    assert "3-40, 42-60" in text
    assert "57" in text
    assert "recall(fold=77)" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cleared_result_names_tool_arguments_and_handle(language: Language) -> None:
    text = cleared_text("read_file", '{"path": "src/a.py"}', 88, 12_345, language)
    assert "read_file" in text
    assert "src/a.py" in text
    assert "recall(seq=88)" in text
    assert "12,345" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_media_and_reasoning_have_placeholders_of_their_own(language: Language) -> None:
    texts = {cleared_block_text(kind, 5, 900, language) for kind in ("image", "document", "reasoning")}
    assert len(texts) == 3
    assert all("recall(seq=5)" in text for text in texts)


def test_long_and_many_lined_arguments_become_one_short_line() -> None:
    text = cleared_text("bash", "x\n" * 5_000, 1, 10, "en")
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_offloaded_output_shows_both_ends_and_where_the_rest_is(language: Language) -> None:
    head, tail = "HEAD" + "a" * 5_000, "b" * 5_000 + "TAIL"
    text = offload_text(
        head, tail, tokens=50_000, digest_name="3fa9", seq=9, path="artifacts/3fa9.txt", language=language
    )
    assert "HEAD" in text
    assert "TAIL" in text
    assert "artifacts/3fa9.txt" in text
    assert "recall(seq=9)" in text
    assert len(text) < 2_000 + 500


def test_an_offloaded_output_without_a_tail_is_cut_in_its_middle() -> None:
    text = offload_text("START" + "x" * 9_000 + "END", "", tokens=9, digest_name="n", seq=1, path=None, language="en")
    assert "START" in text
    assert "END\n</output-" in text
    assert "7,008 characters left out" in text


def test_a_short_output_is_shown_whole() -> None:
    text = offload_text("short", "", tokens=9, digest_name="n", seq=1, path=None, language="en")
    assert "\nshort\n" in text
    assert "left out" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pruned_notice_is_one_line_for_all_its_gaps(language: Language) -> None:
    text = pruned_notice(8, [(1, 2), (5, 5), (9, 9)], 4, language)
    assert "1-2, 5, 9" in text
    assert "\n" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_gap_says_what_it_covers_and_frames_its_summary(language: Language) -> None:
    text = gap_text("in short", fold=8, ranges=[(1, 9)], messages=9, language=language)
    assert "recall(fold=8)" in text
    assert "\nin short\n</gap-" in text


@pytest.mark.parametrize("kind", ["clear", "offload", "summary", "window", "prune", "native", "of a plug-in"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_fold_has_a_line_for_people(kind: str, language: Language) -> None:
    text = fold_notice(kind, 12, 90_000, 4_000, language)
    assert "12" in text
    assert "90,000 → 4,000" in text
    assert "\n" not in text


def test_a_torn_cover_is_shortened_but_keeps_its_ends() -> None:
    assert covered([(n, n) for n in range(0, 200, 2)]) == "seq 0, 2, …, 198"
    assert covered([(2, 9), (11, 11), (20, 30)]) == "seq 2-9, 11, 20-30"
    assert covered([]) == "…"


@pytest.mark.parametrize("language", LANGUAGES)
def test_values_are_never_read_as_templates(language: Language) -> None:
    text = cleared_text("{recall}", "{0} {tokens!r:>99999999}", 1, 2, language)
    assert "{recall}({0} {tokens!r:>99999999})" in text
    assert "{fold}" in summary_text("{fold}", fold=1, ranges=[(1, 1)], language=language)


def test_the_two_languages_word_the_same_things() -> None:
    assert ENGLISH.headings.keys() == JAPANESE.headings.keys()
    assert ENGLISH.marks.keys() == JAPANESE.marks.keys()
    assert ENGLISH.notices.keys() == JAPANESE.notices.keys()
    assert emergency_header("en") != emergency_header("ja")


@pytest.mark.finding("Q5")
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_summary_covers_is_said_once_and_stays_short(language: Language) -> None:
    torn = [(n, n + 3) for n in range(2, 4_000, 5)]
    text = summary_text("the body", fold=7, ranges=torn, language=language)
    assert text.count(covered(torn)) == text.count("seq ") == 1
    assert len(text) <= len(summary_text("the body", fold=7, ranges=torn[:3], language=language)) + 8

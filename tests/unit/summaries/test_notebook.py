"""A digest goes on where the last one ended: what it was made of is carried from fold to fold."""

from __future__ import annotations

import pytest

from contextfold import dialects
from contextfold.domain import Message, Text, encode
from contextfold.summaries import (
    Notebook,
    NotebookShelf,
    OutOfTime,
    SourceMessage,
    Stopwatch,
    SummaryRequest,
    digest,
    no_rest,
)
from contextfold.summaries.notebook import LINES
from contextfold.testing import histories
from contextfold.tokens.encoders import encoder

ENCODER = encoder("o200k")
assert ENCODER is not None
count = ENCODER.count


def recorded(seed: int, tokens: int, language: str = "en") -> tuple[SourceMessage, ...]:
    anthropic = dialects.find("anthropic")
    said = histories.session(seed, tokens=tokens, language=language)  # type: ignore[arg-type]
    return tuple(SourceMessage(seq, anthropic.parse(encode(message))) for seq, message in enumerate(said, 1))


def told(first: int, *texts: str) -> tuple[SourceMessage, ...]:
    return tuple(
        SourceMessage(seq, Message("assistant" if seq % 2 else "user", (Text(text),)))
        for seq, text in enumerate(texts, first)
    )


def asked(said: tuple[SourceMessage, ...], start: int, stop: int, budget: int = 700) -> SummaryRequest:
    return SummaryRequest(said[start:stop], previous="what stood before", budget=budget, kept=said[stop : stop + 8])


@pytest.mark.finding("P5")
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("seed", [3, 8])
def test_a_digest_that_goes_on_is_the_one_that_reads_everything_again(seed: int, language: str) -> None:
    said, notebook, before = recorded(seed, 16_000, language), Notebook(), 0
    for stop in range(6, len(said) - 8, 6):
        request = asked(said, before, stop)
        if before == 0:
            request = SummaryRequest(request.sources, budget=700, kept=request.kept)
        page = digest(request, count, notebook=notebook)
        scratch = SummaryRequest(said[:stop], budget=700, kept=request.kept)
        assert page == digest(scratch, count)
        assert notebook.keep(request)
        before = stop
    assert before >= 18


@pytest.mark.finding("P5")
def test_what_was_read_for_a_fold_that_was_not_made_is_taken_back() -> None:
    said, notebook = recorded(5, 14_000), Notebook()
    first = SummaryRequest(said[:20], budget=700)
    digest(first, count, notebook=notebook)
    notebook.keep(first)
    digest(asked(said, 20, 60), count, notebook=notebook)
    request = asked(said, 20, 34)
    scratch = SummaryRequest(said[:34], budget=700, kept=request.kept)
    assert digest(request, count, notebook=notebook) == digest(scratch, count)


def test_a_notebook_is_kept_for_the_request_it_was_opened_for_alone() -> None:
    said, notebook = recorded(5, 8_000), Notebook()
    first, second = SummaryRequest(said[:10], budget=500), SummaryRequest(said[:12], budget=500)
    digest(first, count, notebook=notebook)
    digest(second, count, notebook=notebook)
    assert not notebook.keep(first)
    assert notebook.keep(second)
    assert not notebook.keep(second)


@pytest.mark.finding("P5")
def test_a_digest_that_ran_out_of_time_leaves_the_notebook_as_it_was() -> None:
    said, notebook = recorded(6, 14_000), Notebook()
    first = SummaryRequest(said[:20], budget=700)
    digest(first, count, notebook=notebook)
    notebook.keep(first)
    ticks = iter(range(1_000_000))
    with pytest.raises(OutOfTime):
        digest(asked(said, 20, 50), count, Stopwatch(lambda: next(ticks), 12), notebook)
    request = asked(said, 20, 40)
    scratch = SummaryRequest(said[:40], budget=700, kept=request.kept)
    assert digest(request, count, notebook=notebook) == digest(scratch, count)


@pytest.mark.finding("P5")
def test_a_notebook_holds_no_more_however_much_was_read_and_keeps_the_first_request() -> None:
    notebook, page = Notebook(), ""
    for fold in range(12):
        lines = (f"handler_{fold}_{n} calls stage_{fold}_{n % 40} in src/part{fold}/file{n % 9}.py" for n in range(500))
        opening = "Never touch src/vault/keys.py, please." if fold == 0 else f"Go on with part {fold}."
        request = SummaryRequest(told(2 + fold * 2, opening, "\n".join(lines)), budget=600)
        page = digest(request, count, notebook=notebook)
        assert notebook.keep(request)
        notebook.tidy(request.budget, no_rest)
        assert len(notebook.lines) <= LINES * 1.5
        assert count(page) <= 600
    assert "Never touch src/vault/keys.py, please." in page
    assert "part11" in page


@pytest.mark.finding("P6")
def test_a_notebook_is_not_tidied_while_the_next_digest_may_be_taken_back() -> None:
    said, notebook = recorded(5, 14_000), Notebook()
    digest(SummaryRequest(said[:40], budget=400), count, notebook=notebook)
    held = len(notebook.lines)
    notebook.tidy(0, no_rest)
    assert len(notebook.lines) == held


@pytest.mark.finding("P5")
def test_where_only_a_part_is_read_again_the_digest_before_tells_of_the_rest() -> None:
    gone = told(2, "Please mend open_vault in src/vault/keys.py.", "open_vault now reads VAULT_PATH first.")
    first = digest(SummaryRequest(gone, budget=300), count)
    again, new = told(40, "And the tests?", "All of test_vault pass."), told(60, "Good.", "close_vault is next.")
    page = digest(SummaryRequest(new, previous=first, earlier=again, is_part=True, budget=600), count)
    for words in ("Please mend open_vault", "VAULT_PATH", "test_vault", "close_vault"):
        assert words in page


def test_a_shelf_gives_a_notebook_for_its_own_fold_until_words_were_forgotten() -> None:
    said, notebook, shelf = recorded(5, 6_000), Notebook(), NotebookShelf()
    request = SummaryRequest(said[:10], budget=500)
    digest(request, count, notebook=notebook)
    shelf.keep(notebook, request, fold=11, erasures=0)
    assert shelf.find([11], 0) is notebook
    assert shelf.find([11], 1) is None
    assert shelf.find([7, 11], 0) is None
    assert shelf.find([], 0) is None


def test_a_shelf_that_was_lent_keeps_nothing() -> None:
    said, notebook, shelf = recorded(5, 6_000), Notebook(), NotebookShelf()
    request = SummaryRequest(said[:10], budget=500)
    digest(request, count, notebook=notebook)
    shelf.keep(notebook, request, fold=11, erasures=0)
    lent, tried = NotebookShelf(shelf), SummaryRequest(said[10:14], budget=500)
    assert lent.find([11], 0) is notebook
    digest(tried, count, notebook=notebook)
    lent.keep(notebook, tried, fold=15, erasures=0)
    assert lent.find([15], 0) is None
    assert shelf.find([11], 0) is notebook

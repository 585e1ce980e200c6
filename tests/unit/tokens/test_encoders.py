import logging
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.counting import HOSTILE
from benchmarks.parity import differences, samples, write_vocabulary
from contextfold.domain import Message, Text
from contextfold.models import Model
from contextfold.tokens import count, counter_for
from contextfold.tokens.encoders import (
    CACHE_VARIABLE,
    VOCABULARIES,
    SplintrEncoder,
    TiktokenEncoder,
    cached_file,
    encoder,
    pieces,
    tiktoken_encoder,
)

MODELS = {
    "o200k": "gpt-5.5",
    "cl100k": "gpt-4",
    "llama3": "llama-3.3",
    "qwen": "qwen3",
    "glm": "glm-4.5",
    "kimi": "kimi-k3",
    "deepseek": "deepseek-v3",
    "mistral": "mistral-nemo",
    "gemma": "gemma-3",
}


def counted(name: str, text: str) -> int:
    found = encoder(name)
    assert found is not None
    return found.count(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_counts_are_those_of_tiktoken(name: str, tmp_path: Path) -> None:
    """Vocabularies byte for byte (by published digest), and counts on more than a thousand varied texts."""
    assert len(samples()) >= 1000
    assert differences(name, tmp_path) == []


def test_every_bundled_vocabulary_loads_and_has_a_model() -> None:
    assert set(MODELS) == set(VOCABULARIES)
    for name, model in MODELS.items():
        assert counter_for(model).method == name
        assert counted(name, "Hello, world!") in (4, 5)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("text", ["<|endoftext|>", "<|im_start|>", "[INST]", "<s></s>", "<bos>", "<|begin_of_text|>"])
def test_what_looks_like_a_special_token_is_text(name: str, text: str) -> None:
    assert counted(name, text) > 1


@pytest.mark.parametrize("model", [*MODELS.values(), "claude-opus-4-6"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_hostile_is_refused(model: str, kind: str) -> None:
    assert count([Message("user", (Text(HOSTILE[kind](40_000)),))], model).tokens > 10


def test_qwen_composes_letters_before_it_counts() -> None:
    apart = unicodedata.normalize("NFD", "がぎぐげご résumé")
    assert counted("qwen", apart) == counted("qwen", unicodedata.normalize("NFC", apart))
    assert counted("o200k", apart) > counted("o200k", unicodedata.normalize("NFC", apart))


def test_a_cut_at_a_seam_changes_no_count() -> None:
    text = "The parser reads the file and then writes the answer to the log. " * 2000
    whole = SplintrEncoder("o200k_base").encode(text)
    assert counted("o200k", text) == len(whole)


@given(st.text(max_size=300), st.integers(2, 50))
def test_pieces_joined_are_the_text(text: str, longest: int) -> None:
    found = pieces(text, longest)
    assert "".join(found) == text
    assert all(len(piece) <= longest for piece in found)


def test_an_unknown_vocabulary_has_no_encoder() -> None:
    assert encoder("nobody-knows") is None


def test_many_threads_count_alike() -> None:
    texts = [text for text in samples() if text][:200]
    alone = [counted("llama3", text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: counted("llama3", text), texts)) == alone


@pytest.mark.seed("F10")
def test_counting_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken would fetch its tables: it is not even asked without a file that is already here."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert tiktoken_encoder("o200k_base") is None
    cached_file("o200k_base", str(tmp_path)).write_bytes(b"IQ== 0\n")
    assert tiktoken_encoder("o200k_base") is None
    monkeypatch.delenv(CACHE_VARIABLE)
    assert tiktoken_encoder("o200k_base") is None


def test_tiktoken_takes_over_when_splintr_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = counted("cl100k", "Hello, world!")
    write_vocabulary("cl100k_base", tmp_path)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setitem(sys.modules, "splintr", None)
    with caplog.at_level(logging.WARNING, "contextfold.tokens"):
        found = encoder.__wrapped__("cl100k")
    assert isinstance(found, TiktokenEncoder)
    assert found.count("Hello, world!") == expected
    assert found.count(" " * 1_000_000) > 0
    assert "tiktoken counts instead" in caplog.text


def test_tiktoken_may_be_missing_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_vocabulary("cl100k_base", tmp_path)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert tiktoken_encoder("cl100k_base") is None


def test_without_any_tokenizer_counts_are_estimated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "splintr", None)
    with caplog.at_level(logging.WARNING, "contextfold.tokens"):
        assert encoder.__wrapped__("o200k") is None
    assert "counts are estimated" in caplog.text


def test_a_panic_becomes_a_count_that_is_too_high() -> None:
    class PanicException(BaseException):
        pass

    def panic(text: str) -> list[int]:
        raise PanicException(text)

    assert TiktokenEncoder(panic).count("折る") == 6


def test_an_interruption_is_no_panic() -> None:
    def interrupted(text: str) -> list[int]:
        raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt):
        TiktokenEncoder(interrupted).count("x")


def test_a_tokenizer_is_plugged_in_by_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "word_counting.py").write_text(
        "class Words:\n    def count(self, text):\n        return len(text.split())\n"
    )
    metadata = tmp_path / "word_counting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: word-counting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[contextfold.encoders]\nwords-of-test = word_counting:Words\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = count([Message("user", (Text("one two three"),))], Model("mine", tokenizer="words-of-test"))
    assert (found.exact, found.method) == (True, "words-of-test")
    assert found.parts["messages"] == 3 + 4 + 3

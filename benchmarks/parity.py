"""Our exact counts against tiktoken's, on many kinds of text, without fetching anything. Not a benchmark by itself.

tiktoken wants its vocabulary files. They are written from the tokens that splintr ships and accepted only when their
SHA-256 is the one tiktoken itself publishes: so the vocabularies are proven equal byte for byte, and the counts compare
two independent implementations of splitting and merging.
"""

from __future__ import annotations

import base64
import hashlib
import os
import random
from functools import cache
from pathlib import Path

from benchmarks.samples import SAMPLES
from contextfold.tokens.encoders import CACHE_VARIABLE, SHA256, VOCABULARIES, cached_file, encoder

_SIZES = {"cl100k_base": 100_256, "o200k_base": 199_998}


def write_vocabulary(vocabulary: str, directory: str | Path) -> Path:
    """The vocabulary's file where tiktoken looks for it; raises when its digest is not the published one."""
    from splintr import Tokenizer  # noqa: PLC0415 - loads vocabularies

    token = Tokenizer.from_pretrained(vocabulary).decode_token_bytes
    lines = (base64.b64encode(token(rank)) + b" %d\n" % rank for rank in range(_SIZES[vocabulary]))
    body = b"".join(lines)
    if hashlib.sha256(body).hexdigest() != SHA256[vocabulary]:
        raise ValueError(f"splintr's {vocabulary} is not the published vocabulary.")
    path = cached_file(vocabulary, str(directory))
    path.write_bytes(body)
    return path


@cache
def samples(number: int = 1200) -> tuple[str, ...]:
    """Varied texts, the same on every machine: cuts and mixtures of all kinds, and strings made to annoy."""
    chance = random.Random(20261115)
    kinds = list(SAMPLES.values())
    annoying = [
        "<|endoftext|>",
        "\0",
        "\r\n\r\n",
        "   \n\t ",
        "'s're'LL",
        "ﬀ①",
        "é",
        "e\u0301",
        "\u200d",
        "١٢٣",
        "ไทย",
        "👩‍💻",
        "ǅ",
    ]
    found = [*kinds, *annoying, ""]
    while len(found) < number:
        parts = []
        for _ in range(chance.randint(1, 5)):
            text = chance.choice(kinds)
            start = chance.randrange(len(text))
            parts.append(text[start : start + chance.randint(1, 400)])
            if chance.random() < 0.4:
                parts.append(chance.choice(annoying) * chance.randint(1, 4))
        found.append("".join(parts))
    return tuple(found)


def differences(name: str, directory: str | Path) -> list[str]:
    """The samples that we and tiktoken count differently."""
    import tiktoken  # noqa: PLC0415 - what we are measured against

    vocabulary = VOCABULARIES[name]
    write_vocabulary(vocabulary, directory)
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(directory)
    try:
        theirs = tiktoken.get_encoding(vocabulary).encode_ordinary
    finally:
        os.environ.pop(CACHE_VARIABLE)
        if before is not None:
            os.environ[CACHE_VARIABLE] = before
    ours = encoder(name)
    assert ours is not None
    return [text for text in samples() if ours.count(text) != len(theirs(text))]

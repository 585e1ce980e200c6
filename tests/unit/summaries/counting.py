"""A counter for tests: words and marks, four characters a token at most. Deterministic and free of vocabularies."""

import re

_PIECES = re.compile(r"\w{1,4}|[^\w\s]|\n")


def count(text: str) -> int:
    return len(_PIECES.findall(text))

"""The examples of the two pages about models and counting run as they stand."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from contextfold.models import config_from, find, recommended
from contextfold.tokens.encoders import VOCABULARIES

DOCS = Path(__file__).parents[3] / "docs"


def examples(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["models.md", "counting.md"])
def test_the_examples_run(page: str, tmp_path: Path) -> None:
    quiet = {name: value for name, value in os.environ.items() if "TOKENS" not in name}
    for example in examples(page, "python"):
        subprocess.run([sys.executable, "-c", example], cwd=tmp_path, env=quiet, capture_output=True, check=True)


def test_the_settings_on_the_page_are_settings() -> None:
    written = "\n".join(examples("models.md", "toml"))
    config = config_from(tomllib.loads(written))
    assert config.profile("careful").keep_messages == 5
    assert find("acme-70b", environ={}, config=config).tokenizer == "llama3"


def test_every_vocabulary_and_profile_is_on_its_page() -> None:
    counting, models = (DOCS / "counting.md").read_text(), (DOCS / "models.md").read_text()
    assert [name for name in VOCABULARIES if f"| `{name}` |" not in counting] == []
    for name, each in recommended().items():
        threshold = "inherits" if each.profile.threshold == -1 else each.profile.threshold
        assert f"| `{name}` | {threshold} |" in models

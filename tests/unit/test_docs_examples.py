"""The examples people copy first: every Python block of these pages runs, in order, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "README.ja.md",
    "docs/economics.md",
    "docs/folding.md",
    "docs/layers.md",
    "docs/providers.md",
    "docs/requests.md",
    "docs/summaries.md",
    "docs/time-travel.md",
    "docs/toolbox.md",
    "docs/ja/layers.md",
    "docs/ja/time-travel.md",
)
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = FENCED.findall((ROOT / page).read_text("utf-8"))
    assert examples
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, page, "exec"), names)  # noqa: S102  # our own documentation


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "README.ja.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold.errors import BadConfiguration
from contextfold.folding.policy import strategy, strategy_names
from contextfold.folding.window import Window
from tests.unit.folding.scene import Scene, chat

MODULE = """
from contextfold.domain import StandIn
from contextfold.folding import Plan, PlannedFold


class FirstOnly:
    name = "first-only"

    def __init__(self, text="[gone]"):
        self.text = text

    def plan(self, view, situation):
        seqs = (view.item(0).seq,)
        return Plan((PlannedFold("window", lambda fold, _: StandIn(self.text), seqs),))
"""
OURS = ("clear", "offload", "prune", "summary", "window")


@pytest.fixture
def outsider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution that brings a strategy by entry point."""
    (tmp_path / "first_only.py").write_text(MODULE)
    information = tmp_path / "first_only-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: first-only\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[contextfold.strategies]\nfirst-only = first_only:FirstOnly\nwindow = first_only:FirstOnly\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("first_only", None)


@pytest.mark.parametrize("name", OURS)
def test_a_strategy_is_found_by_its_name(name: str) -> None:
    assert strategy(name).name == name


def test_options_are_passed_on() -> None:
    assert strategy("window", fraction=0.5) == Window(fraction=0.5)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadConfiguration, match=r"no strategy 'magic'.*clear, offload"):
        strategy("magic")


@pytest.mark.usefixtures("outsider")
def test_a_strategy_from_outside_folds_like_ours_and_never_replaces_one() -> None:
    assert strategy_names() == (*OURS, "first-only")
    assert "first_only" not in sys.modules, "nothing is loaded before it is asked for"
    scene = Scene(chat(3))
    scene.fold(strategy("first-only", text="[nothing to see]"))
    assert scene.hidden() == [0]
    assert scene.texts[0] == "[nothing to see]"
    assert strategy("window").name == "window"

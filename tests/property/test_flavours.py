"""A fold never leaves a turn that its flavour rejects: every recipe, on broken histories, for every flavour."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects.openai_chat.endpoint import flavours
from contextfold.folding import Policy
from contextfold.folding.recipes import RECIPES
from contextfold.testing import histories, nasty

# Flavours that demand the same things are one case here.
DEMANDING = ("deepseek", "bedrock", "no-tools")
MODELS = {"deepseek": "deepseek-v4-pro", "bedrock": "gpt-4.1", "no-tools": "llama-3.3"}


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "4000")


def conversations() -> Iterator[list[dict[str, Any]]]:
    yield list(nasty.history(Random("flavours"), length=40, dialect="openai-chat"))
    yield list(histories.session(7, tokens=6_000, dialect="openai-chat"))
    yield list(histories.session(8, tokens=5_500, dialect="anthropic"))


def bodies(recipe: Callable[[], Policy], flavour: str, history: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    name = f"openai-chat:{flavour}"
    with cf.Session.open(model=MODELS[flavour], policy=recipe()) as session:
        for message in history:
            if message["role"] == "assistant" and any(not item.shape.is_blank for item in session.view.items):
                with suppress(cf.CannotFit):
                    yield session.prepare(system="Keep the tests green.", max_tokens=400, dialect=name).body
            session.append(message)


def test_every_demand_of_a_flavour_is_tried() -> None:
    demands = {(each.reasoning, each.alternates, each.tool_role) for each in flavours().values()}
    tried = {(each.reasoning, each.alternates, each.tool_role) for each in map(flavours().__getitem__, DEMANDING)}
    assert demands - tried == {(False, False, True)}, "OpenAI's own demands are every other test's"


@pytest.mark.seed("R10")
@pytest.mark.parametrize("flavour", DEMANDING)
@pytest.mark.parametrize("name", RECIPES)
def test_whatever_a_recipe_folds_its_flavour_takes_the_request(name: str, flavour: str) -> None:
    dialect = dialects.find(f"openai-chat:{flavour}")
    seen = 0
    for history in conversations():
        for body in bodies(RECIPES[name], flavour, history):
            seen += 1
            assert dialect.check(body) == []
    assert seen > 10

"""Flavours of Chat Completions: what compatible servers demand beyond OpenAI, as data in `flavours.json`.

A flavour is named behind a colon, `openai-chat:deepseek`; unnamed, the model's profile chooses. A new one is a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from contextfold.models import Model


class ChatFlavour(Struct, frozen=True, forbid_unknown_fields=True):
    """One server's habits. The defaults are OpenAI's."""

    about: str = ""
    providers: tuple[str, ...] = ()  # models of these are spoken to in it
    reasoning: bool = False  # an assistant's message with calls carries `reasoning_content`
    alternates: bool = False  # user first, then strictly in turn; system only in front; tools' answers aside
    tool_role: bool = True  # calls and results have fields of their own


PLAIN = ChatFlavour()


@cache
def flavours() -> Mapping[str, ChatFlavour]:
    """Every flavour by its name."""
    return msgspec.json.decode(Path(__file__).with_name("flavours.json").read_bytes(), type=dict[str, ChatFlavour])


def flavour_of(model: Model) -> str:
    """The flavour a model is spoken to in; empty for the plain one.

    Providers that want reasoning back want it for the models whose profile says so, not for their older ones.
    """
    for name, flavour in flavours().items():
        if model.provider in flavour.providers and (not flavour.reasoning or model.binding == "echo"):
            return name
    return ""

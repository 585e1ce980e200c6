"""What models can do: windows, prices, cache rules, reasoning binding; and what a user says about them instead."""

from .catalogue import Family, families, family_of, listed, read_catalogue
from .config import FILE, KEYS_OF_OTHERS, Config, ModelSettings, config_from, nearest, read_config
from .genai_prices import with_genai_prices
from .litellm import from_litellm
from .lookup import CONFIG_VARIABLE, default_config, find
from .model import ASSUMED_WINDOW, Binding, Cache, Media, Model, Prices, Source, Tier
from .names import core
from .profiles import Profile, recommended, recommended_for
from .refusals import limit_in
from .settings import LEGACY_FOR_ALL, PREFIX, limit_for_all, variable

__all__ = [
    "ASSUMED_WINDOW",
    "CONFIG_VARIABLE",
    "FILE",
    "KEYS_OF_OTHERS",
    "LEGACY_FOR_ALL",
    "PREFIX",
    "Binding",
    "Cache",
    "Config",
    "Family",
    "Media",
    "Model",
    "ModelSettings",
    "Prices",
    "Profile",
    "Source",
    "Tier",
    "config_from",
    "core",
    "default_config",
    "families",
    "family_of",
    "find",
    "from_litellm",
    "limit_for_all",
    "limit_in",
    "listed",
    "nearest",
    "read_catalogue",
    "read_config",
    "recommended",
    "recommended_for",
    "variable",
    "with_genai_prices",
]

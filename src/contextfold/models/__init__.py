"""What models can do: windows, prices, cache rules, reasoning binding; and what a user says about them instead."""

from .catalogue import listed
from .config import Config, ModelSettings, config_from, read_config
from .finding import default_config, find
from .genai_prices import with_genai_prices
from .litellm import from_litellm
from .model import ASSUMED_WINDOW, Binding, Cache, Media, Model, Prices, Source, Tier
from .profiles import Profile, recommended, recommended_for
from .refusals import limit_in
from .settings import variable

__all__ = [
    "ASSUMED_WINDOW",
    "Binding",
    "Cache",
    "Config",
    "Media",
    "Model",
    "ModelSettings",
    "Prices",
    "Profile",
    "Source",
    "Tier",
    "config_from",
    "default_config",
    "find",
    "from_litellm",
    "limit_in",
    "listed",
    "read_config",
    "recommended",
    "recommended_for",
    "variable",
    "with_genai_prices",
]

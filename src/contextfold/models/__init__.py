"""What models can do: windows, prices, cache rules, reasoning binding; and what a user says about them instead."""

from .catalogue import Family, families, family_of, listed, read_catalogue, ships
from .config import (
    INHERIT,
    KEYS_OF_OTHERS,
    Config,
    ModelSettings,
    Profile,
    config_from,
    config_of,
    nearest,
    read_config,
    recommended,
    recommended_for,
)
from .files import CONFIG_VARIABLE, FILE, TRUST_VARIABLE, SettingsTable, read_settings, settings_files
from .lookup import LEGACY_FOR_ALL, PREFIX, default_config, find, limit_for_all, variable, warn_of_left_out
from .model import ASSUMED_WINDOW, Binding, Cache, FactSource, Media, Model, Paid, Prices, Tier, limit_in, paid_for
from .names import core
from .price_tables import from_litellm, with_genai_prices

__all__ = [
    "ASSUMED_WINDOW",
    "CONFIG_VARIABLE",
    "FILE",
    "INHERIT",
    "KEYS_OF_OTHERS",
    "LEGACY_FOR_ALL",
    "PREFIX",
    "TRUST_VARIABLE",
    "Binding",
    "Cache",
    "Config",
    "FactSource",
    "Family",
    "Media",
    "Model",
    "ModelSettings",
    "Paid",
    "Prices",
    "Profile",
    "SettingsTable",
    "Tier",
    "config_from",
    "config_of",
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
    "paid_for",
    "read_catalogue",
    "read_config",
    "read_settings",
    "recommended",
    "recommended_for",
    "settings_files",
    "ships",
    "variable",
    "warn_of_left_out",
    "with_genai_prices",
]

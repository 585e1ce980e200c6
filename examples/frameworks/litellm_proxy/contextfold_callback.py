"""What LiteLLM's proxy calls: `litellm --config config.yaml` in this directory finds it by its name in there."""

from contextfold.litellm import Fold

fold = Fold("agent.db")

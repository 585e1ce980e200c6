import subprocess
import sys


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_loads_no_tokenizer_and_no_optional_package() -> None:
    assert not loaded_by("import contextfold") & {"splintr", "tiktoken", "genai_prices", "tomllib"}


def test_the_catalogue_and_the_weights_are_read_on_first_use() -> None:
    code = (
        "import contextfold; from contextfold.models.catalogue import listed; "
        "from contextfold.tokens.counters import families; "
        "assert listed.cache_info().currsize == families.cache_info().currsize == 0"
    )
    assert loaded_by(code)


def test_an_estimate_loads_no_tokenizer() -> None:
    code = "from contextfold.tokens import count; count([], 'claude-opus-4-6')"
    assert "splintr" not in loaded_by(code)

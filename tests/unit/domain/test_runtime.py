import pytest

from contextfold.domain import Environment, Phase
from contextfold.errors import BadConfiguration


def test_a_phase_is_found_by_its_name_and_no_other_is_made_up() -> None:
    assert Phase.of(" Executing") is Phase.EXECUTING
    with pytest.raises(BadConfiguration, match="planning, executing, reflecting, verifying"):
        Phase.of("dreaming")


@pytest.mark.seed("E18")
@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("prod", Environment.PROD),
        ("production", Environment.PROD),
        ("Production ", Environment.PROD),
        ("dev", Environment.DEV),
        ("development", Environment.DEV),
        ("staging", Environment.STAGING),
        ("stage", Environment.STAGING),
        ("produktion", Environment.UNKNOWN),
        ("", Environment.UNKNOWN),
        ("unknown", Environment.UNKNOWN),
    ],
)
def test_an_environment_that_nobody_knows_is_unknown(name: str, environment: Environment) -> None:
    assert Environment.of(name) is environment

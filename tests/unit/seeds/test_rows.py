"""Every row of the seeds that folding answers is answered by a test that carries its id."""

from tests.unit.test_papers import ROWS, used

# Rows that other parts answer. E31 asks for measurements instead of claims.
ELSEWHERE = {
    "log": "R1 R2 R3 R6 R17 R23 R24 R25 R26 R27 R28 R29 R37 E6 E7 C2 C20 D14 D19 D21",
    "counting and models": "R12 R18 R19 R20 R21 R22 R35 R36 E26 E27 C11 D15 F1 F2 F6 F7 F9 F10 X1 X2",
    "wire formats": "R7 R8 R9 R10 R30 E3",
    "digest and economics": "C3 D18 D24 X4",
    "summaries by models": "R4 R31 R32 C14 C23 D16 D17 X7",
    "time travel": "R38 R39 E28 E29 C15 C16 C17 C18 X9",
    "layers and tools": "E8 E9 E10 E11 E12 E13 E14 E15 E16 E17 E18 E19 E20 E21 E22 E23 E24 E25 X10",
    "measurements": "E31",
}


def folding_rows() -> list[str]:
    others = {row for rows in ELSEWHERE.values() for row in rows.split()}
    every = [f"{letter}{row}" for letter, rows in ROWS["seed"].items() for row in range(1, rows + 1)]
    return [row for row in every if row not in others]


def test_every_row_that_folding_answers_has_a_test() -> None:
    carried = {value for _, marker, value in used() if marker == "seed"}
    assert len(folding_rows()) == 51
    assert [row for row in folding_rows() if row not in carried] == []


def test_every_row_of_the_digest_and_of_economics_has_a_test() -> None:
    carried = {value for _, marker, value in used() if marker == "seed"}
    assert [row for row in ELSEWHERE["digest and economics"].split() if row not in carried] == []

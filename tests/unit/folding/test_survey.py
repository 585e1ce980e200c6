from contextfold.folding.plan import Survey
from tests.unit.folding.scene import Scene, assistant, calls, chat, results, step, system, user


def fixed(scene: Scene) -> list[int]:
    """Numbers of the given messages that no strategy takes."""
    survey = Survey(scene.view)
    seqs = {survey.items[place].seq for place in survey.fixed}
    return [number for number, seq in enumerate(scene.seqs) if seq in seqs]


def test_the_live_request_is_the_newest_message_of_a_person_and_no_tools() -> None:
    scene = Scene([user("first"), assistant("yes"), user("second"), *step("a", "found"), *step("b", "more")])
    assert Survey(scene.view).live == 2
    assert fixed(scene) == [2, 5, 6]


def test_a_message_of_nothing_is_nobody_speaking() -> None:
    scene = Scene([user("first"), assistant("yes"), user("  ")])
    assert Survey(scene.view).live == 0


def test_without_a_person_the_newest_atom_is_the_live_turn() -> None:
    survey = Survey(Scene([assistant("hello"), *step("a", "found")]).view)
    assert survey.live is None
    assert survey.turn == 1
    assert Survey(Scene([]).view).turn == 0


def test_the_newest_atom_is_the_newest_that_says_something() -> None:
    scene = Scene([user("go"), assistant("hm"), user(" "), calls("a"), results({"a": "x"}), assistant(" "), user("")])
    assert fixed(scene) == [0, 3, 4, 5, 6]


def test_what_the_system_says_among_the_others_stays() -> None:
    scene = Scene([*chat(2), system("Speak French."), assistant("oui"), user("next")])
    assert fixed(scene) == [5, 7]


def test_the_ranges_of_a_fold_hold_what_goes_and_nothing_that_stays() -> None:
    survey = Survey(Scene(chat(6)).view)
    assert survey.ranges(survey.atoms[1:5]) == ((2, 5),)
    assert survey.ranges([*survey.atoms[1:3], *survey.atoms[4:6]]) == ((2, 3), (5, 6))
    assert survey.ranges([]) == ()


def test_a_stand_in_counts_for_what_it_hides() -> None:
    scene = Scene(chat(6))
    scene.thread.fold([*scene.seqs[1:3], *scene.seqs[4:6]], "[hidden]", kind="window")
    survey = Survey(scene.view)
    marker, kept, after = survey.atoms[1:4]
    assert [survey.items[atom.start].seq for atom in (kept, after)] == [4, 7]
    assert survey.ranges([marker, after]) == ((2, 3), (5, 7))
    assert survey.ranges([marker, kept, after]) == ((2, 7),)
    assert survey.count([marker]) == 0


def test_where_another_stand_in_is_left_only_what_shows_is_named() -> None:
    scene = Scene(chat(8))
    scene.thread.fold(scene.seqs[1:4], "[one]", kind="summary")
    scene.thread.fold(scene.seqs[5:8], "[two]", kind="window")
    survey = Survey(scene.view)
    _, _, kept, two, after, *_ = survey.atoms
    assert survey.ranges([kept, two, after]) == ((5, 9),)
    assert survey.ranges([two, after]) == ((9, 9),)


def test_a_stand_in_alone_stands_for_all_that_is_hidden() -> None:
    scene = Scene(chat(3)[:-1])
    fold = scene.thread.fold(scene.seqs, "[all of it]", kind="summary")
    survey = Survey(scene.view)
    assert survey.ranges(survey.atoms) == ((1, fold - 1),)


def test_messages_that_stay_side_by_side_leave_no_range_between_them() -> None:
    scene = Scene(chat(6))
    scene.thread.fold(scene.seqs[3:5], "[hidden]", kind="window")
    survey = Survey(scene.view)
    marker = survey.atoms[3]
    assert survey.is_stand_in(marker)
    assert survey.ranges([marker, survey.atoms[4]]) == ((4, 6),)

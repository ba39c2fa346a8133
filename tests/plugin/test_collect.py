"""Collection: each case is a pytest item, and what pytest does with items works on it."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import BARE, ECHOING, SETTINGS, WORKERS, Project, case, cases_yaml, failing, row


def node_ids(result: pytest.RunResult) -> list[str]:
    """Return the node ids that `--collect-only -q` printed."""
    return [line for line in result.outlines if "::" in line]


def test_each_case_is_an_item_in_the_order_of_the_file_and_to_list_them_writes_nothing(
    pytester: pytest.Pytester,
) -> None:
    checkout = ECHOING.with_cases(case("b"), case("a"), case("a:1/x@y")).at(pytester)
    before = sorted(path.name for path in (checkout.path / "eval").iterdir() if path.suffix)
    result = checkout.run("--collect-only", "-q")
    assert result.ret == 0
    assert node_ids(result) == ["eval/cases.yaml::b", "eval/cases.yaml::a", "eval/cases.yaml::a:1/x@y"]
    assert sorted(path.name for path in (checkout.path / "eval").iterdir() if path.suffix) == before
    assert not checkout.artifacts.folder.exists()
    assert checkout.asked() == []
    result.stdout.no_fnmatch_line("*scorecard*")


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ((), "abc"),
        (("-m", "x"), "b"),
        (("-k", "talk"), "c"),
        (("--scenarios=talk",), "c"),
        (("--recall-mode=pr",), "a"),
    ],
    ids=" ".join,
)
def test_cases_are_listed_whether_they_are_due_or_not(
    pytester: pytest.Pytester, options: tuple[str, ...], listed: str
) -> None:
    """Editors find tests by `--collect-only`, and run one by its node id."""
    later = "2026-04-01"
    cases = [case("a"), case("b", tags=["x"]), case("c", scenario="talk")]
    checkout = ECHOING.with_cases(*cases).with_state(a=row(1), b=row(5, due=later), c=row(5, due=later)).at(pytester)
    before = checkout.state()
    found = node_ids(checkout.run("eval", "--collect-only", "-q", *options))
    assert found == [f"eval/cases.yaml::{name}" for name in listed]
    checkout.run("eval/cases.yaml::b").assert_outcomes(passed=1)
    assert checkout.state() == before


def test_node_ids_do_not_depend_on_an_ini_file(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.without("pytest.ini").with_cases(case("a")).at(pytester)
    assert node_ids(checkout.run("eval", "--collect-only", "-q")) == ["eval/cases.yaml::a"]


@pytest.mark.parametrize("name", ["eval/cases.jsonl", "flows.cases.jsonl", "deep/er/flows.cases.yaml"])
def test_case_files_have_these_names(pytester: pytest.Pytester, name: str) -> None:
    rows = json.dumps(case("a")) + "\n" if name.endswith("jsonl") else cases_yaml(case("a"))
    agent = {"conftest.py": ECHOING.files["eval/conftest.py"]}
    rubric = {f"{name.rpartition('/')[0] or '.'}/rubric.yaml": "owner: us\n"}
    checkout = BARE.with_files({name: rows, **agent, **rubric}).at(pytester)
    assert node_ids(checkout.run("--collect-only", "-q")) == [f"{name}::a"]


def test_other_yaml_files_are_left_alone(pytester: pytest.Pytester) -> None:
    names = ("cases.yaml", "eval/rows.yaml", "eval/cases.yml", "eval/data/cases.yaml")
    checkout = ECHOING.with_files(dict.fromkeys(names, "not: a case file\n")).at(pytester)
    assert checkout.run().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not checkout.artifacts.folder.exists()


def test_where_no_case_file_is_found_their_names_are_told(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-p", "recall")
    result.stdout.fnmatch_lines(
        "recall: no case file was found (eval/cases.yaml, [*].cases.yaml); name its file, or let `recall init`"
        " write one"
    )
    pytester.makepyfile("def test_of_a_stranger(): pass")
    pytester.runpytest("-p", "recall").stdout.no_fnmatch_line("recall: *")


def test_a_folder_without_a_rubric_is_told_of_and_its_file_runs_by_name(pytester: pytest.Pytester) -> None:
    files = {"foo/cases.yaml": cases_yaml(case("a")), "foo/conftest.py": ECHOING.files["eval/conftest.py"]}
    checkout = Project(files).at(pytester)
    result = checkout.run("foo")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    said = "recall: not run: foo/cases.yaml; name the file, write foo/rubric.yaml, or give --recall-dir foo"
    assert said in result.outlines
    checkout.run("foo/cases.yaml").assert_outcomes(passed=1)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_an_option_that_chooses_cases_is_refused_where_there_are_none(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile("def test_of_a_stranger(): pass")
    result = pytester.runpytest("-p", "recall", "--scenarios", "refunds", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "ERROR: --scenarios: there is no case here, neither in a case file nor a marked test; name the folder of the"
    assert any(line.startswith(said) for line in (*result.outlines, *result.errlines))
    result.assert_outcomes(passed=1 if workers else 0)


def test_the_ini_file_names_further_case_files(pytester: pytest.Pytester) -> None:
    settings = SETTINGS + "recall_files =\n    questions/*.yaml\n    *.evals.jsonl\n"
    files = {"questions/fees.yaml": cases_yaml(case("a")), "x.evals.jsonl": json.dumps(case("b")) + "\n"}
    agent = {"conftest.py": ECHOING.files["eval/conftest.py"]}
    checkout = BARE.with_files({"pytest.ini": settings, **files, **agent}).at(pytester)
    assert sorted(node_ids(checkout.run("--collect-only", "-q"))) == ["questions/fees.yaml::a", "x.evals.jsonl::b"]


@WORKERS
@pytest.mark.parametrize("name", ["a-link", "z-link"])
def test_a_link_to_a_folder_beside_it_has_no_cases_of_its_own(
    pytester: pytest.Pytester, name: str, workers: tuple[str, ...]
) -> None:
    checkout = ECHOING.with_files({"eval/more.cases.yaml": cases_yaml(case("b"))}).with_cases(case("a")).at(pytester)
    (checkout.path / name).symlink_to("eval", target_is_directory=True)
    checkout.run("--recall-mode=all", *workers).assert_outcomes(passed=2)
    assert sorted(checkout.asked()) == ["a", "b"]
    checkout.run(f"{name}/more.cases.yaml", "--recall-mode=all", *workers).assert_outcomes(passed=1)


def test_ignored_files_are_not_part_of_the_choice(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).with_cases(case("b"), file="eval/b.cases.yaml").at(pytester)
    result = checkout.run("eval", "--ignore=eval/b.cases.yaml")
    result.assert_outcomes(passed=1)
    assert checkout.slice() == {"a": "new"}


def test_what_runs_left_behind_is_run_only_if_it_is_named(pytester: pytest.Pytester) -> None:
    kept = {"eval/_artifacts/x.cases.yaml": cases_yaml(case("b")), "eval/_artifacts/test_x.py": "def test_x(): pass\n"}
    files = {**kept, "_artifacts/test_y.py": "def test_y(): pass\n"}
    checkout = ECHOING.with_cases(case("a")).with_files(files).at(pytester)
    checkout.artifacts.make()
    checkout.run("--recall-mode", "all", "-n1").assert_outcomes(passed=2)  # `a` and `test_y`
    checkout.run("eval/_artifacts/test_x.py").assert_outcomes(passed=1)


def test_a_run_inside_the_eval_directory_keeps_the_same_state(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    monkeypatch.chdir(checkout.path / "eval")
    checkout.run().assert_outcomes(passed=1)
    assert checkout.boxes() == {"a": 1}


def test_what_is_not_chosen_is_not_collected(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(*(case(f"c{number:02}") for number in range(12))).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["collected 5 items"])
    result.stdout.no_fnmatch_line("*deselected*")


def test_an_unknown_node_id_is_an_error(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    result = checkout.run("eval/cases.yaml::nope")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: not found: *eval/cases.yaml::nope"])
    assert checkout.asked() == []


def test_k_finds_ids_scenarios_dimensions_and_tags(pytester: pytest.Pytester) -> None:
    wanted = case("late-return", scenario="fees", dimension="tone", tags=["money"])
    checkout = ECHOING.with_cases(case("a"), wanted).at(pytester)
    checkout.run("eval", "-k", "late and fees and tone and money")
    assert checkout.asked() == ["late-return"]


@WORKERS
def test_a_marked_test_that_k_leaves_out_has_its_row_for_good(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    marked = '@pytest.mark.recall("m")\ndef test_m():\n    pass\n'
    files = {"test_m.py": f"import pytest\n\n\n{marked}"}
    checkout = ECHOING.with_files(files).with_cases(case("a")).with_state(m=row(2), gone=row(2)).at(pytester)
    checkout.run("-k", "a and not test_m", *workers).assert_outcomes(passed=1, deselected=0 if workers else 1)
    assert checkout.journal().header.orphans == ("gone",)


def test_m_chooses_from_the_tagged_cases_and_leaves_the_schedule_on(pytester: pytest.Pytester) -> None:
    tagged = [case(f"t{number}", tags=["money"]) for number in range(7)]
    checkout = ECHOING.with_cases(*tagged, case("a"), case("b")).at(pytester)
    result = checkout.run("eval", "-m", "money", "-n1")
    assert result.ret == 0
    assert len(checkout.asked()) == 5
    assert {name[0] for name in checkout.asked()} == {"t"}
    assert checkout.today()["mode"] == "pr"
    assert checkout.today()["of"] == 7
    assert sorted(checkout.boxes()) == checkout.asked()


@WORKERS
def test_a_quiet_run_says_what_it_chose(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = ECHOING.with_cases(case("a")).at(pytester).run("-q", *workers)
    told = [line for line in result.outlines if line.startswith("recall: ")]
    assert told == ["recall: pr 2026-03-10, seed 2026-03-10: 1 of 1 case (1 new)"]


def test_m_says_what_it_chose_once_it_is_known(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a", tags=["money"]), case("b")).at(pytester)
    result = checkout.run("eval", "-m", "not money")
    result.stdout.fnmatch_lines(
        [
            "recall: pr 2026-03-10: chosen from what -m 'not money' leaves",
            "recall: pr 2026-03-10, seed 2026-03-10: 1 of 1 case (1 new)",
        ]
    )
    assert checkout.asked() == ["b"]


def test_strict_markers_know_the_tags_and_still_refuse_typing_errors(pytester: pytest.Pytester) -> None:
    typo = "import pytest\n\n\n@pytest.mark.monney\ndef test_it():\n    pass\n"
    checkout = ECHOING.with_cases(case("a", tags=["money", "slow-ish"])).with_files({"test_typo.py": typo}).at(pytester)
    checkout.run("eval", "-m", "money").assert_outcomes(passed=1)
    result = checkout.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'monney' not found in `markers` configuration option"])


def test_x_stops_at_the_first_failure_and_a_file_named_twice_is_run_once(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a"), failing("b"), case("c")).at(pytester)
    checkout.run("eval", "eval/cases.yaml", "-x").assert_outcomes(passed=1, failed=1)
    assert checkout.asked() == ["a", "b"]


def test_a_failure_shows_question_reference_and_answer_without_a_traceback(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(failing("late", input="What is the fee?", expected="$2")).at(pytester)
    result = checkout.run("eval")
    result.stdout.fnmatch_lines(
        [
            "new failures (1):",
            "  late (new → box 1)",
            "      eval/cases.yaml:1: exact: expected “$2”, got “What is the fee?”",
            "        asked:    What is the fee?",
            "        expected: $2",
            "        answered: What is the fee?",
        ],
        consecutive=True,
    )
    result.stdout.no_fnmatch_line("*.py:*")

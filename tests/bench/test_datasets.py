"""Discovery: every YAML file below a folder, the broken ones with what is wrong, two of one name named both."""

from pathlib import Path

import pytest

from evergold.bench.datasets import SAMPLES, discover
from evergold.errors import BadInput
from evergold.model.build import dataset_hash

GOOD = "name: Good\ntasks: [{id: a, name: b, input: c, expected_output: d}]\n"


def test_files_are_found_at_any_depth_by_their_stem(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "one.yaml").write_text(GOOD)
    (tmp_path / "deep" / "er" / "two.yml").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("not a dataset")
    (tmp_path / ".hidden.yaml").write_text(GOOD)
    assert list(discover(tmp_path, None)) == ["one", "two"]


def test_a_file_added_later_is_found_without_a_restart(tmp_path: Path) -> None:
    assert discover(tmp_path, None) == {}
    (tmp_path / "new.yaml").write_text(GOOD)
    assert discover(tmp_path, None)["new"].cases()[0].dataset == "new"


def test_a_broken_file_is_listed_with_its_problems(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("name: x\ntasks: [{id: a, nmae: b, input: c, expected_output: d}]\n")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x00\x01")
    found = discover(tmp_path, None)
    assert found["broken"].problems == (
        "broken.yaml:2: tasks[0].name is required",
        "broken.yaml:2: tasks[0].nmae is unknown; did you mean name?",
    )
    assert len(found["binary"].problems) == 1
    with pytest.raises(BadInput, match=r"dataset 'broken' cannot be used: broken.yaml:2: .* \(and 1 more\)"):
        found["broken"].cases()


def test_two_files_of_one_stem_are_an_error_that_names_both(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "same.yaml").write_text(GOOD)
    (tmp_path / "same.yml").write_text(GOOD)
    found = discover(tmp_path, None)["same"]
    with pytest.raises(BadInput, match=r"two datasets are called 'same': same.yml and a/same.yaml; rename one"):
        found.cases()


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/same", "..", "nul\0"])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    assert discover(tmp_path, only=name) == {}


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"benchmark.datasets_dir is .*nowhere.*, which is not a folder"):
        discover(tmp_path / "nowhere")


def test_ones_own_file_takes_the_place_of_a_sample(tmp_path: Path) -> None:
    (tmp_path / "basic-coding.yaml").write_text(GOOD)
    assert len(discover(tmp_path)["basic-coding"].cases()) == 1
    assert len(discover(None)["basic-coding"].cases()) == 8


def test_the_samples_are_right_and_together_use_every_field() -> None:
    found = discover(None)
    assert set(found) == {"basic-coding", "tool-use", "grounded-answers", "reasoning", "extraction"}
    cases = [case for entry in found.values() for case in entry.cases()]
    assert {case.difficulty for case in cases} == {"easy", "medium", "hard"}
    for field in ("expected_tools", "contexts", "tags", "tools", "metadata"):
        assert any(getattr(case, field) for case in cases), field
    assert all(path.suffix == ".yaml" for path in SAMPLES.iterdir())


def test_the_hash_follows_the_content_and_not_the_order() -> None:
    cases = discover(None)["reasoning"].cases()
    assert dataset_hash(cases) == dataset_hash(cases[::-1])
    assert dataset_hash(cases) != dataset_hash([cases[0].model_copy(update={"expected": "11"}), *cases[1:]])

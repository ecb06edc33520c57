"""Policy files: what they say, what identifies them, and what a mistake in one looks like."""

from pathlib import Path

import pytest

from evergold.curate.policy import DEFAULT, policies, read_policy
from evergold.errors import BadInput, NotFound
from evergold.model.policy import JudgeRole, Policy


def written(folder: Path, text: str, name: str = "policy.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_everything(tmp_path: Path) -> None:
    policy = read_policy(
        written(
            tmp_path,
            """
            name = "support"
            dataset = "support-live"
            ignore = ["complete"]
            llm_judge = "system"
            tags = ["model"]
            fallback_texts = ["Try later*"]
            [thresholds]
            failure_below = 0.2
            golden_from = 0.9
            [eligible]
            metadata = { message_type = ["text", "audio"] }
            [sample]
            candidate = 0.1
            """,
        )
    )
    assert (policy.name, policy.dataset, policy.llm_judge) == ("support", "support-live", JudgeRole.SYSTEM)
    assert policy.thresholds.golden_from == 0.9
    assert policy.eligible.metadata == {"message_type": ("text", "audio")}
    assert policy.sample.candidate == 0.1


def test_a_revision_is_the_meaning_not_the_spelling() -> None:
    assert Policy(ignore=("a", "b")).rev == Policy(ignore=("b", "a", "a")).rev
    assert Policy(ignore=("a",)).rev != DEFAULT.rev
    assert DEFAULT.label.startswith("default@") and len(DEFAULT.label) == len("default@") + 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[thresholds]\ngolden_from = 1.5", "thresholds.golden_from: is 1.5; at most 1 is allowed"),
        ("[thresholds]\ngolden_from = 0.1", "failure_below 0.3 is above golden_from 0.1"),
        ("treshold = 1", "unknown key 'treshold'; did you mean 'thresholds'?"),
        ("[sample]\ncandidat = 1", "unknown key 'candidat'; did you mean 'candidate'?"),
        ('tags = ["colour"]', "unknown tag extractor 'colour'"),
        ('name = "no spaces"', "name: is 'no spaces'; it must match"),
        ("name = ", "cannot be read as TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_policy(written(tmp_path, text))
    assert message in caught.value.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"none\.toml"):
        read_policy(tmp_path / "none.toml")


def test_several_policies_stand_beside_the_built_in_one(tmp_path: Path) -> None:
    one = written(tmp_path, 'name = "one"', "one.toml")
    replaced = written(tmp_path, 'name = "default"\nllm_judge = "system"', "default.toml")
    assert [policy.name for policy in policies([one])] == ["default", "one"]
    assert policies([replaced])[0].llm_judge is JudgeRole.SYSTEM
    with pytest.raises(BadInput, match="both describe policy 'one'"):
        policies([one, written(tmp_path, 'name = "one"', "again.toml")])

"""The `generation` section: what is wrong is named with file, line, key and what is allowed."""

from pathlib import Path

import pytest

from evergold.errors import BadInput, NotFound
from evergold.generate.model_writer import chosen_prompts
from evergold.generate.spec import GenerationSpec, Prompts, load_section

CONFIG = """\
evaluation:
  version: v1
generation:
  documents: docs
  tasks: {qa: 3}
  chunks:
    size: 500
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "default.yaml"
    path.write_text(text)
    return path


def test_flags_win_over_the_section_and_the_section_over_what_is_built_in(tmp_path: Path) -> None:
    spec = load_section(written(tmp_path, CONFIG), {"documents": "other", "model": None, "limit": 7})
    assert (spec.documents, spec.tasks.qa, spec.tasks.summaries, spec.limit) == ("other", 3, 1, 7)
    assert load_section(None, {}) == GenerationSpec()
    assert load_section(written(tmp_path, "evaluation: {}\n"), {}) == GenerationSpec()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("size: 500", "sise: 500", "default.yaml:7: generation.chunks: unknown key 'sise'; did you mean 'size'?"),
        (
            "size: 500",
            "size: big",
            "default.yaml:7: generation.chunks.size: must be a number, not 'big'",
        ),
        (
            "size: 500",
            "size: 5",
            "default.yaml:7: generation.chunks.size: is 5; at least 100 is allowed",
        ),
        ("size: 500", "overlap: 900", "generation.chunks: overlap 900 is more than half of size 1200"),
        ("{qa: 3}", "{qa: 0, summaries: 0}", "generation.tasks: nothing is asked for"),
        ("documents: docs", "document: docs", "default.yaml:4: generation: unknown key 'document'"),
        ("documents: docs", "- docs", "not valid YAML"),
        ("documents: docs", "retrieval: {method: magic}", "is 'magic'; allowed is 'bm25' or 'embeddings'"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, before: str, after: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_section(written(tmp_path, CONFIG.replace(before, after)), {})
    assert said in caught.value.message


def test_a_config_that_is_not_there_or_no_table(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no config file"):
        load_section(tmp_path / "nowhere.yaml", {})
    with pytest.raises(BadInput, match="must be a table"):
        load_section(written(tmp_path, "generation: [1]\n"), {})
    with pytest.raises(BadInput, match="not a table"):
        load_section(written(tmp_path, "- 1\n"), {})


def test_a_prompt_of_your_own_must_name_its_places() -> None:
    own = chosen_prompts(Prompts(answer="Q: {instruction}\n{passages}"))
    assert own["answer"].startswith("Q:")
    with pytest.raises(BadInput, match=r"prompts.answer lacks \{passages\}"):
        chosen_prompts(Prompts(answer="{instruction}"))
    with pytest.raises(BadInput, match=r"names \{context\}, which is not filled in"):
        chosen_prompts(Prompts(answer="{instruction} {passages} {context}"))
    with pytest.raises(BadInput, match=r"prompts\.rewrite"):
        chosen_prompts(Prompts(rewrite="{problems"))


def test_the_run_is_named_by_what_decides_its_content() -> None:
    spec = GenerationSpec()
    assert spec.run_id("h") == GenerationSpec(concurrency=3, output="elsewhere").run_id("h")
    assert spec.run_id("h") != spec.run_id("other documents")
    assert spec.run_id("h") != GenerationSpec(seed=1).run_id("h")

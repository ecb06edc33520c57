from hypothesis import given
from hypothesis import strategies as st

from evergold.text.markers import CodeBlock, code_blocks, code_of


def test_blocks_have_their_language_and_lose_the_indent_of_their_fence() -> None:
    text = "1. so:\n   ```Python title=x\n   def f():\n       return 1\n   ```\nand\n~~~\nplain\n~~~"
    assert list(code_blocks(text)) == [CodeBlock("python", "def f():\n    return 1"), CodeBlock("", "plain")]


def test_a_longer_fence_holds_a_shorter_one_and_an_open_one_ends_with_the_text() -> None:
    assert list(code_blocks("````md\n```py\nx\n```\n````")) == [CodeBlock("md", "```py\nx\n```")]
    assert list(code_blocks("```py\nx = 1")) == [CodeBlock("py", "x = 1")]


def test_the_blocks_of_the_language_count_then_those_without_one() -> None:
    text = "```bash\npip install x\n```\n```py\na = 1\n```\n```\nb = 2\n```\n```python3\nc = 3\n```"
    assert code_of(text, "python") == "a = 1\n\nc = 3"
    assert code_of("```bash\nls\n```\n```\nb = 2\n```", "python") == "b = 2"
    assert code_of("```SQL\nSELECT 1\n```", "sql") == "SELECT 1"


def test_a_console_session_beside_real_code_is_left_out() -> None:
    assert code_of("```python\ndef f(): return 1\n```\n```python\n>>> f()\n1\n```", "python") == "def f(): return 1"


def test_code_without_a_fence_is_cut_out_of_the_prose() -> None:
    text = "Sure, here it is:\n\ndef f(x):\n    return x\n\nThis returns its argument."
    assert code_of(text, "python") == "def f(x):\n    return x\n"
    assert code_of("def f(x):\n    return x", "python") == "def f(x):\n    return x"
    assert code_of("I do not know.", "python") == "I do not know."
    assert code_of("SELECT 1", "sql") == "SELECT 1"


@given(st.text(alphabet="`~\n abc:", max_size=200), st.sampled_from(["python", "sql", ""]))
def test_any_text_gives_some_code(text: str, language: str) -> None:
    assert isinstance(code_of(text, language), str)

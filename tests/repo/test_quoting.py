"""Git's spelling of paths."""

from hypothesis import given
from hypothesis import strategies as st

from evergold.repo.git import path_bytes, path_text, unquote


@given(st.binary(min_size=1))
def test_every_path_comes_back(raw: bytes) -> None:
    text = path_text(raw)
    assert path_bytes(text) == raw
    text.encode()


def test_git_spelling_is_read() -> None:
    assert unquote(rb'"caf\303\251\t\"x\\.txt"') == 'café\t"x\\.txt'.encode()
    assert unquote(b"plain") == b"plain"


def test_paths_that_are_text_stay_as_they_are() -> None:
    assert path_text("dir/é.txt".encode()) == "dir/é.txt"
    assert path_text(b"caf\xe9") == '"caf\\351"'

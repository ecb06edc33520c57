"""Memory of the C library: asked for where it is that of GNU, and left alone elsewhere."""

import ctypes

import pytest

from evergold import machine
from evergold.machine import HEAPS, M_ARENA_MAX, give_back_memory, one_blas_thread, share_heaps


class Library:
    """Notes what is called; without `malloc_trim` it is another library than that of GNU."""

    def __init__(self, *names: str) -> None:
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        for name in names:
            setattr(self, name, lambda *given, name=name: self.calls.append((name, given)))


@pytest.mark.parametrize(
    ("names", "calls"),
    [
        (("mallopt", "malloc_trim"), [("mallopt", (M_ARENA_MAX, HEAPS)), ("malloc_trim", (0,))]),
        (("mallopt",), []),
        ((), []),
    ],
)
def test_only_the_library_of_gnu_is_asked(
    names: tuple[str, ...], calls: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(*names)
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    share_heaps()
    give_back_memory()
    assert library.calls == calls


def test_the_library_of_this_machine_takes_it() -> None:
    share_heaps()
    give_back_memory()


def test_what_an_operator_chose_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library("mallopt", "malloc_trim")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    monkeypatch.setenv("MALLOC_ARENA_MAX", "16")
    share_heaps()
    assert library.calls == []


def test_matrices_are_multiplied_on_one_thread_until_the_last_user_has_done() -> None:
    library = machine._open_blas()
    if library is None:
        pytest.skip("numpy uses another library than the OpenBLAS of its wheels")
    count = library.scipy_openblas_get_num_threads64_
    library.scipy_openblas_set_num_threads64_(2)
    with one_blas_thread():
        with one_blas_thread():
            assert count() == 1
        assert count() == 1
    assert count() == 2

"""After erasure no byte of the workspace's folder holds a word of the user: every field carries a word of its own."""

from collections.abc import Iterator
from pathlib import Path

from evergold.model.case import EntryType
from evergold.model.review import CaseKey, Decision, Edit, ReviewVerdict
from evergold.model.run import RunSpec
from evergold.model.trace import Correction, Reaction, Score, ScoreLine, Span, Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace

WORD = "xq{}qx"
GOOD = Score(name="ok", value=1.0)


class Words:
    """Gives out words that are nowhere else, and remembers them."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def __call__(self, name: str) -> str:
        self.given.append(WORD.format(name))
        return self.given[-1]


def left_in(folder: Path, words: list[str]) -> set[tuple[str, str]]:
    """Which of the words are in which files."""
    found = set()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found |= {
            (word, path.relative_to(folder).as_posix()) for word in words if word.encode() in data + path.name.encode()
        }
    return found


def traces_of_ana(word: Words) -> Iterator[Trace | ScoreLine | Correction | Reaction]:
    span = Span(
        id="s1",
        name=word("spanname"),
        input=word("spaninput"),
        output=word("spanoutput"),
        metadata={word("spankey"): word("spanvalue"), "attributes": {word("attrkey"): word("attrvalue")}},
    )
    yield Trace(
        id="t1",
        user_id=word("user"),
        session_id=word("session"),
        name=word("name"),
        input=f"what is {word('input')}?",
        output=f"it is {word('output')}",
        tags=(word("tag"),),
        metadata={word("key"): word("value"), "model": word("model"), "message_type": word("type")},
        spans=(span,),
        scores=(Score(name=word("scorename"), value=1.0, comment=word("comment")),),
    )
    yield ScoreLine(trace_id="t1", name="helpful", value=0.9, source="human", comment=word("humancomment"))
    yield Correction(trace_id="t1", text=word("correction"), author=word("author"))
    yield Reaction(trace_id="t1", emoji="👍", author=word("reactor"))
    yield Trace(
        id="t2",
        user_id="bo",
        session_id="other",
        input="bo asks",
        output="bo hears",
        scores=(GOOD,),
    )


def used(workspace: Workspace, word: Words, folder: Path) -> None:
    """All that is done with cases on the way: tags, edits, opinions, builds, runs, searches."""
    workspace.live.curate()
    for case in list(workspace.cases.iterate(CaseFilter(dataset="live", trace_id="t1"))):
        number = case.entry_type.value
        workspace.cases.tag("live", case.id, add=[word(f"casetag{number}")], who="app")
        key = CaseKey(dataset="live", id=case.id)
        version = workspace.cases.get("live", case.id).version
        edit = Edit(version=version, changes={"expected": word(f"edited{number}")}, why=word(f"editwhy{number}"))
        workspace.review.edit(key, edit, "rev")
        if case.entry_type is not EntryType.CORRECTION:
            said = Decision(version=version + 1, verdict=ReviewVerdict.APPROVE, comment=word(f"opinion{number}"))
            workspace.review.decide(key, said, "rev")
    workspace.builds.freeze(workspace.builds.spec_of("live"))
    workspace.builds.freeze(workspace.builds.spec_of("live", "v2", folder / "frozen"))
    workspace.bench.run_here(RunSpec(dataset="live", model="recorded", metrics=("exact_match", "correctness")))
    workspace.live.stats("live")


def test_no_byte_of_the_folder_holds_a_word_of_an_erased_user(tmp_path: Path) -> None:
    word = Words()
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.intake.accept(list(traces_of_ana(word)))
        used(workspace, word, tmp_path)
        while workspace.live._learn_for_searches():
            pass
    assert {found for found, _ in left_in(tmp_path, word.given)} == set(word.given)
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.retention.erase(WORD.format("user"), who="dpo", why="asked for")
        assert left_in(tmp_path, word.given) == set()
        workspace.live.curate()
    assert left_in(tmp_path, word.given) == set()
    assert left_in(tmp_path, ["bo asks"])


def test_what_stays_is_the_name_of_the_case(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.intake.accept([Trace(id="xqtraceqx", user_id="ana", input="a", output="b", scores=(GOOD,))])
        workspace.live.curate()
        workspace.retention.erase("ana")
        (case,) = workspace.cases.iterate(CaseFilter(dataset="live", status=None))
        assert (case.id, case.provenance.trace_id, case.input) == ("default:xqtraceqx", None, "")


def test_a_tag_that_others_have_is_still_counted(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        for user, tags in (("ana", ("refund", "about-ana")), ("bo", ("refund",))):
            workspace.intake.accept([Trace(id=user, user_id=user, input="a", output="b", tags=tags, scores=(GOOD,))])
        workspace.live.curate()
        build = workspace.builds.freeze(workspace.builds.spec_of("live"))
        assert {"refund", "about-ana"} <= build.manifest["tags"].keys()
        workspace.retention.erase("ana")
        left = workspace.builds.get("live", "v1").manifest["tags"]
        assert "refund" in left and "about-ana" not in left
        assert "about-ana" not in (Path(build.location or "") / "manifest.json").read_text()

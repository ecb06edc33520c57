"""Read what to build from a config file and flags: every path absolute, every wrong value named before anything is read.

A split is data: what it accepts, where each of its fields comes from, and what it cannot do without. A new one is one
more entry in `SPLITS` (or one more table in a config file), never a new code path. Every column names its sources in order of
preference; the first one a record really fills wins. A dotted source looks inside `rag`, and the same name at top level is
its natural fallback.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from evergold.build.manifest import require_version
from evergold.build.offline_records import MAX_LINE_BYTES, state_of
from evergold.errors import BadInput, Conflict, NotFound, describe_unknown
from evergold.storage import RemotePath, is_url, location, make_relative
from evergold.storage.compression import ENDINGS

Kind = Literal["text", "texts", "contexts", "objects", "object", "any"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LIST_KINDS = frozenset({"texts", "contexts", "objects"})
ALIGNED = ("contexts", "sources", "retrieved")
"""Lists that pair up place by place."""
EMPTY: Mapping[Kind, bytes] = {
    "text": b'""',
    "texts": b"[]",
    "contexts": b"[]",
    "objects": b"[]",
    "object": b"{}",
    "any": b"null",
}


@dataclass(frozen=True)
class Column:
    """One field of a split's records."""

    name: str
    sources: tuple[str, ...]
    kind: Kind = "text"
    required: bool = False
    optional: bool = False
    """Left out of a record that does not have it, instead of being written empty."""


@dataclass(frozen=True)
class Split:
    """One output file: the task types it takes and the columns of its records, in order."""

    name: str
    task_types: tuple[str, ...]
    columns: tuple[Column, ...]
    file_name: str


def in_rag(name: str) -> tuple[str, ...]:
    """A field of `rag`, which may also stand at top level."""
    return (f"rag.{name}", name)


ENVELOPE = (
    Column("rag_prompt", (*in_rag("prompt"), "rag_prompt")),
    Column("contexts", in_rag("contexts"), "contexts"),
    Column("sources", in_rag("sources"), "texts"),
    Column("scores", in_rag("scores"), "any", optional=True),
    Column("retrieved", in_rag("retrieved"), "objects"),
    Column("citations", in_rag("citations"), "objects"),
)
METADATA = Column("metadata", ("metadata",), "object")
ANSWER_CITATIONS = Column("answer_citations", ("answer_citations", *in_rag("citations")), "objects")
QUESTION = Column("question", ("instruction", "question"), required=True)
ANSWER = Column("reference_answer", ("expected_response", "answer"), required=True)


def _question_split(name: str, file_name: str) -> Split:
    return Split(name, (name,), (QUESTION, ANSWER, *ENVELOPE, ANSWER_CITATIONS, METADATA), file_name)


def _instruction_split(name: str, reference: str) -> Split:
    asked = Column("instruction", ("instruction", "prompt", "question"), required=True)
    answered = Column(reference, ("expected_response", "response", "answer"), required=True)
    return Split(name, (name,), (asked, answered, *ENVELOPE, METADATA), f"{name}.jsonl")


SPLITS: Mapping[str, Split] = {
    split.name: split
    for split in (
        _question_split("qa", "qa_pairs.jsonl"),
        _instruction_split("summaries", "reference_summary"),
        _question_split("citations", "citations.jsonl"),
        _instruction_split("contextualizations", "reference_context"),
    )
}
DEFAULT_SPLITS = ("qa", "summaries")
SPLIT_KEYS = ("output", "task_types", "fields", "file")
FIELD_KEYS = ("from", "kind", "required")
GIVEN = ("task_id", "task_type", "extra")
_PLAIN = re.compile(r"[\w-]+")


def declare_splits(name: str, table: Mapping[str, Any]) -> Split:
    """A split from a config file: a shipped one under its own name, or a table of its own."""
    base = SPLITS.get(name)
    if not _PLAIN.fullmatch(name):
        raise BadInput(f"split {name!r}: a split is named by letters, digits, - and _")
    for key in table:
        if key not in SPLIT_KEYS:
            raise BadInput(f"split {name!r}: {describe_unknown('key', str(key), SPLIT_KEYS)}")
    if base is None and "fields" not in table:
        raise BadInput(f"split {name!r} is not a shipped one ({', '.join(SPLITS)}): give it `fields`")
    # A split of one's own has the envelope as well, so that contexts and sources are checked in it.
    columns = base.columns if base else (*ENVELOPE, METADATA)
    if "fields" in table:
        own = _columns(name, table["fields"])
        # A field of one's own replaces the column of that name in the envelope.
        kept = tuple(column for column in (*ENVELOPE, METADATA) if column.name not in {field.name for field in own})
        columns = (*own, *kept)
    task_types = _texts(f"split {name!r}, task_types", table.get("task_types", base.task_types if base else (name,)))
    file_name = table.get("file", base.file_name if base else f"{name}.jsonl")
    # A name with a slash would leave the folder of the build.
    if not isinstance(file_name, str) or "/" in file_name or not file_name.strip("."):
        raise BadInput(f"split {name!r}: file must be the name of a file, got {file_name!r}")
    return Split(name, tuple(kind.strip().casefold() for kind in task_types), columns, file_name)


def _texts(where: str, value: Any) -> tuple[str, ...]:
    """One text or a list of them; YAML makes numbers and dates of what is not quoted."""
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise BadInput(f"{where}: write a text or a list of texts, got {value!r}")
    return texts


def _columns(split: str, fields: Any) -> tuple[Column, ...]:
    """`question: {from: [instruction, question], required: true}`, or just the list of sources."""
    if not isinstance(fields, dict) or not fields:
        raise BadInput(f"split {split!r}: fields must be a table, as in `question: [instruction]`; got {fields!r}")
    for name in fields:
        if not isinstance(name, str) or not name or name in GIVEN:
            raise BadInput(
                f"split {split!r}: {name!r} cannot be a field of its own ({', '.join(GIVEN)} come by themselves)"
            )
    columns = []
    for name, spec in fields.items():
        where = f"split {split!r}, field {name!r}"
        table = {"from": spec} if isinstance(spec, (list, str)) else spec
        if not isinstance(table, dict) or "from" not in table:
            raise BadInput(f"{where}: write `from: [source, …]`, got {spec!r}")
        for key in table:
            if key not in FIELD_KEYS:
                raise BadInput(f"{where}: {describe_unknown('key', str(key), FIELD_KEYS)}")
        sources = _texts(f"{where}, from", table["from"])
        kind, required = table.get("kind", "text"), table.get("required", False)
        if kind not in KINDS:
            raise BadInput(f"{where}: {describe_unknown('kind', str(kind), KINDS)}")
        if not isinstance(required, bool):
            raise BadInput(f"{where}: required is true or false, got {required!r}")
        # Only `rag` is opened while reading; a deeper path would silently find nothing.
        if deep := [source for source in sources if "." in source and not source.startswith("rag.")]:
            raise BadInput(f"{where}: source {deep[0]!r} is too deep; only `rag.` can be looked into")
        columns.append(Column(name, sources, kind, required=required))
    return tuple(columns)


DEFAULT_FOLDER = "evaluation/datasets"
_KEYS = ("name", "offline_dataset", "manifest", "version", "splits", "max_line_mb")
MOST_LINE_MB = 1024


@dataclass(frozen=True)
class RagSpec:
    """One RAG build: the offline file, the splits and where they go."""

    root: Path
    source: Path
    manifest: Path
    outputs: Mapping[str, Path]
    splits: tuple[Split, ...] = field(default_factory=lambda: tuple(SPLITS[name] for name in DEFAULT_SPLITS))
    version: str = "v1"
    limit: int | None = None
    force: bool = False
    strict: bool = False
    max_line: int = MAX_LINE_BYTES
    url: str | None = None
    """The source, where it is an object in a store and not a file."""
    unpacked: Path | None = None
    """The records as plain lines, where the source is packed or a table."""
    name: str = ""
    """What a workspace calls the dataset; empty: as its source is called."""

    @property
    def dataset(self) -> str:
        return self.name or Path(self.url or self.source.name).stem

    @property
    def origin(self) -> str:
        """The source as it was given."""
        return self.url or str(self.source)

    @property
    def location(self) -> str:
        """What is read: the source, or its plain copy."""
        return str(self.unpacked) if self.unpacked else self.origin

    @property
    def source_name(self) -> str:
        """The source as the manifest names it."""
        return self.url or self.make_relative(self.source)

    @property
    def rejected(self) -> Path:
        return next(iter(self.outputs.values())).with_name("rejected.jsonl")

    def make_relative(self, path: Path) -> str:
        return make_relative(path, self.root)

    def require_sane(self) -> None:
        """Everything that can be known to be wrong before reading a byte."""
        require_version(self.version)
        if self.limit is not None and self.limit < 1:
            raise BadInput(f"--limit {self.limit} builds nothing; give 1 or more, or leave it out")
        state_of(self.location)
        targets = self._targets()
        made_from = "the offline dataset it is made from"
        taken: dict[str, str] = {str(self.source.resolve()): made_from}
        for what, path in targets.items():
            # A hard link or a symbolic link to the source would be overwritten while it is read.
            is_source = self.url is None and path.exists() and path.samefile(self.source)
            other = made_from if is_source else taken.setdefault(str(path.resolve()), what)
            if path.suffix in ENDINGS:
                # A build is compared byte by byte; packed files differ with the version of the packer.
                raise BadInput(f"{what} would be written to {path}; builds are written plain: leave {path.suffix} out")
            if other != what:
                raise BadInput(f"{what} would be written to {path}, which is {other}; give it a path of its own")
        self.require_room()

    def require_room(self) -> None:
        """Nothing is written over without `force`: asked before reading, and again before the files take their places."""
        existing = [str(path) for path in self._targets().values() if path.exists()]
        if existing and not self.force:
            raise Conflict(f"already there: {', '.join(existing)}; add --force to replace, or choose other outputs")

    def _targets(self) -> dict[str, Path]:
        splits = {f"split {name!r}": path for name, path in self.outputs.items()}
        return splits | {"the manifest": self.manifest, "the rejected records": self.rejected}


def project_root(config: Path | None) -> Path:
    """Where relative paths start: the folder of the config file, or the one above a folder called `configs`."""
    if config is None:
        return Path.cwd()
    folder = config.resolve().parent
    return folder.parent if folder.name in ("config", "configs") else folder


def load_spec(config: Path | None, flags: Mapping[str, Any]) -> RagSpec:
    """The built-in values, then the `evaluation` section of the config file, then the flags that were given.

    `flags` may hold offline_dataset, manifest, version, limit, force, strict and `outputs` (split name → path).
    """
    section = _read_section(config) if config else {}
    root = project_root(config)
    chosen = section | {key: value for key, value in flags.items() if value is not None}
    tables = _tables(section.get("splits", list(DEFAULT_SPLITS)))
    given: Mapping[str, Path | None] = flags.get("outputs", {})
    # An output for a split that is not built would be waited for in vain.
    for name, output in given.items():
        if output is not None and name not in tables:
            raise BadInput(
                f"{output} is given for the split {name!r}, which the config does not list ({', '.join(tables)}); "
                "add it to `splits`, or leave the flag out"
            )
    splits, outputs, owner = [], dict[str, Path](), dict[str, str]()
    for name, table in tables.items():
        split = declare_splits(name, table)
        splits.append(split)
        default = _text(f"splits.{name}.output", table.get("output", f"{DEFAULT_FOLDER}/{split.file_name}"))
        outputs[name] = root / (given.get(name) or location(default))
    for split in splits:
        for kind in split.task_types:
            if (other := owner.setdefault(kind, split.name)) != split.name:
                raise BadInput(f"splits {other!r} and {split.name!r} both take task type {kind!r}; leave it to one")
    source = _text("offline_dataset", chosen.get("offline_dataset", f"{DEFAULT_FOLDER}/offline_dataset.jsonl"))
    manifest = root / location(_text("manifest", chosen.get("manifest", f"{DEFAULT_FOLDER}/manifest.json")))
    path = root / location(source)
    megabytes = section.get("max_line_mb", MAX_LINE_BYTES / (1 << 20))
    # bool is an int in Python: `true` is no number of megabytes.
    if isinstance(megabytes, bool) or not isinstance(megabytes, (int, float)) or not 0 < megabytes <= MOST_LINE_MB:
        raise BadInput(f"evaluation.max_line_mb must be a number up to {MOST_LINE_MB}, got {megabytes!r}")
    return RagSpec(
        root=manifest.parent if isinstance(manifest, RemotePath) else root,  # names in a manifest start where it is
        source=path,
        url=str(path) if isinstance(path, RemotePath) else source if is_url(source) else None,
        manifest=manifest,
        outputs=outputs,
        splits=tuple(splits),
        version=str(chosen.get("version", "v1")),
        limit=flags.get("limit"),
        force=bool(flags.get("force")),
        strict=bool(flags.get("strict")),
        name=_text("name", chosen["name"]) if "name" in chosen else "",
        max_line=int(megabytes * (1 << 20)),
    )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, (str, Path)) or not str(value).strip():
        raise BadInput(f"evaluation.{key} must be a text, got {value!r}")
    return str(value)


def _read_section(config: Path) -> dict[str, Any]:
    from evergold.formats.yaml_documents import Unreadable, bytes_of, read

    try:
        content = read(bytes_of(config)).value or {}
    except FileNotFoundError:
        raise NotFound(f"no config file at {config}") from None
    except Unreadable as unreadable:
        where = unreadable.problem.describe_at(config)
        raise BadInput(f"cannot read config {where}: {unreadable.problem.message}") from unreadable
    except OSError as problem:
        raise BadInput(f"cannot read config {config}: {problem.strerror or problem}") from problem
    section = content.get("evaluation") or {} if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise BadInput(f"{config}: `evaluation` must be a table of settings")
    for key in section:
        if key not in _KEYS:
            raise BadInput(f"{config}: evaluation: {describe_unknown('key', str(key), _KEYS)}")
    # An empty key in YAML is null and means the default.
    return {key: value for key, value in section.items() if value is not None}


def _tables(splits: Any) -> dict[str, dict[str, Any]]:
    """`splits: [qa, citations]` or `splits: {qa: {output: …}, mine: {task_types: …, fields: …}}`."""
    if isinstance(splits, list):
        for name in splits:
            if not isinstance(name, str):
                raise BadInput(f"evaluation.splits lists names, got {name!r}; for tables write `splits: {{NAME: …}}`")
        splits = dict.fromkeys(splits)
    if not isinstance(splits, dict) or not splits:
        raise BadInput(f"evaluation.splits must list at least one split ({', '.join(SPLITS)}), got {splits!r}")
    for name, table in splits.items():
        if table is not None and not isinstance(table, dict):
            raise BadInput(f"split {name!r} must be a table with output, task_types, fields or file; got {table!r}")
    return {str(name): table or {} for name, table in splits.items()}

"""Full-text indexes: words of traces, pairs of characters of traces, parts of words of cases.

**Words.** SQLite keeps an FTS5 index beside `traces`, PostgreSQL a GIN index. Both hold the name and the beginnings of question
and answer: a full index of long answers would cost more at intake than everything else together. SQLite's indexes store no
text of their own and no positions. Words are learnt in bulk, which costs half as much as trace by trace: `trace_words_upto`
says up to which arrival they are known. The server moves it on when nothing comes, intake when very many traces wait, and
whoever searches moves it to the end first, so that nothing is found late. Triggers follow changes and deletions of what is
known, so no hand-written statement makes the index wrong. PostgreSQL keeps such a list of late comers by itself.

**Pairs.** Scripts that put no space between words, such as Chinese, Japanese and Thai, look like one word a sentence. Each of
their characters is indexed together with the one after it, so that any part of a sentence is found: by its pairs, and then
by the text itself. Only traces that hold such a script cost anything.

**Parts.** A search of cases finds a text anywhere, also inside a word. SQLite keeps every three characters in a row that a case
holds (`trigram`); a case that holds them all is then looked at itself. Cases that the index does not know yet, and those too
long for it, are always looked at, so that a search finds the same with and without it. PostgreSQL reads the texts.
"""

import re

from sqlalchemy import Connection, text
from sqlalchemy.sql.elements import TextClause

SCRIPTS = (
    "\u0e00-\u0eff",  # Thai, Lao
    "\u1000-\u109f",  # Burmese
    "\u1780-\u17ff",  # Khmer
    "\u3005-\u3007",  # marks that repeat a character
    "\u3040-\u30ff",  # Hiragana, Katakana
    "\u3400-\u4dbf",
    "\u4e00-\u9fff",  # Chinese characters
    "\uac00-\ud7a3",  # Hangul
    "\uf900-\ufaff",
    "\uff66-\uff9f",  # Katakana, half width
    "\U00020000-\U0003ffff",
)
CLASS = f"[{''.join(SCRIPTS)}]"
RUN = re.compile(f"{CLASS}+")
INDEXED = 300  # characters of question and of answer
LONGEST = 1000  # characters of name, question and answer together that are looked at for pairs
ENOUGH = 20_000  # traces that wait before intake takes the time to learn the words of some
AT_ONCE = 2_000  # the most that are learnt in one transaction: whoever writes meanwhile waits for it


def _beginnings(row: str) -> list[str]:
    texts = (f"substr(coalesce({row}{side}, ''), 1, {INDEXED})" for side in ("input_text", "output_text"))
    return [f"{row}name", *texts]


def _text_of(row: str) -> str:
    return f"substr({' || char(10) || '.join(_beginnings(row))}, 1, {LONGEST})"


def _words_of(row: str) -> str:
    return " || ' ' || ".join(_beginnings(row))


def _pairs_of(row: str) -> str:
    text = _text_of(row)
    return (
        f"SELECT {row}seq, group_concat(substr({text}, p.at, 2), ' ') FROM trace_grams_at p "
        f"WHERE p.at <= length({text}) AND substr({text}, p.at, 1) GLOB '{CLASS}'"
    )


# A pattern of many ranges takes longer than all else of learning and forgetting a trace. So it is looked for last: not
# in a text of as many bytes as characters, and not where nothing is of the wider ranges, which hold no punctuation or emoji.
WIDER = "[\u0e00-\u1fff\u2e80-\uffef\U00020000-\U0003ffff]"
_HOLDS = (
    f"length(CAST({{text}} AS BLOB)) > length({{text}}) AND {{text}} GLOB '*{WIDER}*' AND {{text}} GLOB '*{CLASS}*'"
)
# Traces that are not learnt yet are in no index: deleting them from it would corrupt an index without content.
_KNOWN = "old.seq <= (SELECT seq FROM trace_words_upto)"
_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in ("name", "input_text", "output_text"))
_OLD, _NEW = _HOLDS.format(text=_text_of("old.")), _HOLDS.format(text=_text_of("new."))
_FORGET_PAIRS = (
    f"INSERT INTO trace_grams (trace_grams, rowid, pairs) SELECT 'delete', * FROM ({_pairs_of('old.')}) WHERE {_OLD};"
)
_LEARN_PAIRS = f"INSERT INTO trace_grams (rowid, pairs) SELECT * FROM ({_pairs_of('new.')}) WHERE {_NEW};"
_LEARN_MANY_PAIRS = f"""INSERT INTO trace_grams (rowid, pairs)
    SELECT t.seq, (SELECT group_concat(substr(t.text, p.at, 2), ' ') FROM trace_grams_at p
      WHERE p.at <= length(t.text) AND substr(t.text, p.at, 1) GLOB '{CLASS}')
    FROM (SELECT seq, {_text_of("")} AS text FROM traces WHERE seq > ? AND seq <= ?) t
    WHERE {_HOLDS.format(text="t.text")}"""
# `content=''` and `detail=none`: the index stores neither texts nor positions, only which rows hold a pair.
_SQLITE_PAIRS = (
    "CREATE VIRTUAL TABLE trace_grams USING fts5(pairs, content='', detail=none, columnsize=0, "
    "tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'\")",
    "CREATE TABLE trace_grams_at (at INTEGER PRIMARY KEY)",
    f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LONGEST}) "
    "INSERT INTO trace_grams_at SELECT i FROM n",
    # The condition of the trigger, because that of its statement is looked at after the pairs are made.
    f"CREATE TRIGGER trace_grams_gone AFTER DELETE ON traces WHEN {_KNOWN} AND {_OLD} BEGIN {_FORGET_PAIRS} END",
    f"CREATE TRIGGER trace_grams_changed AFTER UPDATE OF name, input_text, output_text ON traces "
    f"WHEN {_KNOWN} AND ({_CHANGED}) AND (({_OLD}) OR ({_NEW})) BEGIN {_FORGET_PAIRS} {_LEARN_PAIRS} END",
)
POSTGRES_TEXT = _text_of("").replace("char(10)", "chr(10)")
POSTGRES_GRAMS = f"evergold_grams({POSTGRES_TEXT})"
POSTGRES_HOLDS = f"{POSTGRES_TEXT} ~ '{CLASS}'"
_POSTGRES_PAIRS = (
    f"""CREATE OR REPLACE FUNCTION evergold_grams(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT gram), '{{}}') FROM (
      SELECT substr(given, p, s) AS gram FROM generate_series(1, length(given)) p, (VALUES (1), (2)) sizes(s)
      WHERE substr(given, p, 1) ~ '{CLASS}') grams $$""",
    f"CREATE INDEX trace_grams ON traces USING gin (({POSTGRES_GRAMS})) WHERE {POSTGRES_HOLDS}",
)


def pairs_of(run: str) -> list[str]:
    """The pairs of characters that a text which holds `run` holds; of a single character, that character."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


# An index without content forgets a row only when it is given the very words that it learnt.
_FORGET_WORDS = f"INSERT INTO trace_words (trace_words, rowid, words) VALUES ('delete', old.seq, {_words_of('old.')});"
_LEARN_WORDS = f"INSERT INTO trace_words (rowid, words) VALUES (new.seq, {_words_of('new.')});"
_LEARN_MANY_WORDS = (
    f"INSERT INTO trace_words (rowid, words) SELECT seq, {_words_of('')} FROM traces WHERE seq > ? AND seq <= ?"
)
_SQLITE_WORDS = (
    "CREATE VIRTUAL TABLE trace_words USING fts5(words, content='', detail=none, columnsize=0, "
    'tokenize="unicode61 remove_diacritics 2")',
    "CREATE TABLE trace_words_upto (seq INTEGER NOT NULL)",
    "INSERT INTO trace_words_upto VALUES (0)",
    f"CREATE TRIGGER trace_words_gone AFTER DELETE ON traces WHEN {_KNOWN} BEGIN {_FORGET_WORDS} END",
    f"CREATE TRIGGER trace_words_changed AFTER UPDATE OF name, input_text, output_text ON traces "
    f"WHEN {_KNOWN} AND ({_CHANGED}) BEGIN {_FORGET_WORDS} {_LEARN_WORDS} END",
)
# `simple`: no stemming and no stop words, as the traces may be in any language.
POSTGRES_WORDS = f"to_tsvector('simple', {_words_of('')})"
# Whoever fills the list of late comers sorts it into the index, and every search reads it: kept at a quarter of the 4 MB that
# PostgreSQL allows, no batch waits long and the list takes less room.
POSTGRES_LATE = "gin_pending_list_limit = 1024"  # KB
_POSTGRES_INDEX = f"CREATE INDEX trace_words ON traces USING gin (({POSTGRES_WORDS})) WITH ({POSTGRES_LATE})"
TRACE_INDEXES = {
    "sqlite": (*_SQLITE_WORDS, *_SQLITE_PAIRS),
    "postgresql": (_POSTGRES_INDEX, *_POSTGRES_PAIRS),
}


def _known_and_last(connection: Connection, number: str, index: str, table: str) -> tuple[int, int]:
    """The last row that an index knows, and the last there is; the same where nothing waits."""
    if connection.dialect.name != "sqlite":
        return 0, 0
    last = f"(SELECT max({number}) FROM {table})"
    row = connection.exec_driver_sql(f"SELECT {number}, {last} FROM {index}_upto").one()
    return row[0], max(row[0], row[1] or 0)


def words_waiting(connection: Connection) -> tuple[int, int]:
    """The last arrival whose words are known, and the last there is; the same where nothing waits."""
    return _known_and_last(connection, "seq", "trace_words", "traces")


def learn_words(connection: Connection, enough: int = 1) -> bool:
    """Learn the words of the traces that wait, if there are enough; whether there was anything to do."""
    known, last = words_waiting(connection)
    if last - known < enough:
        return False
    upto = min(last, known + AT_ONCE)
    connection.exec_driver_sql(_LEARN_MANY_WORDS, (known, upto))
    connection.exec_driver_sql(_LEARN_MANY_PAIRS, (known, upto))
    connection.exec_driver_sql("UPDATE trace_words_upto SET seq = ?", (upto,))
    return True


LONGEST_CASE = 20_000  # characters of a case that is indexed; longer ones are looked at each time
CASES_AT_ONCE = 200  # cases that are learnt in one transaction: whoever writes meanwhile waits for it
MOST_TRIPLES = 24  # of a long search; the text itself decides in the end
_CASE_TEXTS = ("input_text", "output_text", "expected_output", "case_id")


def _case_text(row: str) -> str:
    return " || char(10) || ".join(f"coalesce({row}{column}, '')" for column in _CASE_TEXTS)


def _is_short(row: str) -> str:
    return f"length({_case_text(row)}) <= {LONGEST_CASE}"


_LONG = " + ".join(f"length(coalesce({column}, ''))" for column in _CASE_TEXTS) + f" > {LONGEST_CASE - 3}"
_CASE_KNOWN = "old.id <= (SELECT id FROM case_parts_upto)"
_CASE_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in _CASE_TEXTS)
# An index without content forgets a row only when it is given the very text that it learnt.
_FORGET_PARTS = (
    "INSERT INTO case_parts (case_parts, rowid, parts) "
    f"SELECT 'delete', old.id, {_case_text('old.')} WHERE {_is_short('old.')};"
)
_LEARN_MANY_PARTS = (
    f"INSERT INTO case_parts (rowid, parts) SELECT id, {_case_text('')} FROM eval_dataset "
    f"WHERE id > ? AND id <= ? AND {_is_short('')}"
)
_LEARN_PARTS = f"INSERT INTO case_parts (rowid, parts) SELECT new.id, {_case_text('new.')} WHERE {_is_short('new.')};"
_SQLITE_PARTS = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS case_parts USING fts5(parts, content='', detail=none, columnsize=0, "
    "tokenize='trigram')",
    "CREATE TABLE IF NOT EXISTS case_parts_upto (id INTEGER NOT NULL)",
    "INSERT INTO case_parts_upto SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM case_parts_upto)",
    f"CREATE INDEX IF NOT EXISTS entries_long ON eval_dataset (id) WHERE {_LONG}",
    f"CREATE TRIGGER IF NOT EXISTS case_parts_gone AFTER DELETE ON eval_dataset WHEN {_CASE_KNOWN} BEGIN {_FORGET_PARTS} END",
    f"CREATE TRIGGER IF NOT EXISTS case_parts_changed AFTER UPDATE OF {', '.join(_CASE_TEXTS)} ON eval_dataset "
    f"WHEN {_CASE_KNOWN} AND ({_CASE_CHANGED}) BEGIN {_FORGET_PARTS} {_LEARN_PARTS} END",
)
CASE_INDEXES = {"sqlite": _SQLITE_PARTS}
_HOLDERS = f"""eval_dataset.id IN (
    SELECT rowid FROM case_parts WHERE case_parts MATCH :triples
    UNION ALL SELECT id FROM eval_dataset WHERE {_LONG}
    UNION ALL SELECT id FROM eval_dataset WHERE id > (SELECT id FROM case_parts_upto))"""


def may_hold(search: str, dialect: str) -> TextClause | None:
    """The condition on a case that it may hold a text; None where no index says so."""
    triples = [search[at : at + 3] for at in range(len(search) - 2)][:MOST_TRIPLES]
    if dialect != "sqlite" or not triples or "\x00" in search:
        return None
    quoted = ['"{}"'.format(triple.replace('"', '""')) for triple in dict.fromkeys(triples)]
    return text(_HOLDERS).bindparams(triples=" AND ".join(quoted))


def parts_waiting(connection: Connection) -> tuple[int, int]:
    """The last case that the index knows, and the last there is; the same where nothing waits."""
    return _known_and_last(connection, "id", "case_parts", "eval_dataset")


def learn_parts(connection: Connection) -> bool:
    """Index some of the cases that wait; whether there was anything to do."""
    known, last = parts_waiting(connection)
    if known == last:
        return False
    of_some = f"SELECT id FROM eval_dataset WHERE id > ? ORDER BY id LIMIT {CASES_AT_ONCE}"
    upto = connection.exec_driver_sql(f"SELECT max(id) FROM ({of_some})", (known,)).scalar_one()
    connection.exec_driver_sql(_LEARN_MANY_PARTS, (known, upto))
    connection.exec_driver_sql("UPDATE case_parts_upto SET id = ?", (upto,))
    return True


def forget_deleted(connection: Connection) -> None:
    """Write the indexes anew without the texts of rows that are gone: deleting alone only marks them."""
    for index in ("trace_words", "trace_grams", "case_parts") if connection.dialect.name == "sqlite" else ():
        connection.exec_driver_sql(f"INSERT INTO {index} ({index}) VALUES ('optimize')")

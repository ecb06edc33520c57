"""Full-text indexes: words of whole conversations, and parts of words of cases.

**Words.** `trace_words` has a row for each trace that is indexed: its distinct words, without accents and in lower case. SQLite
has an FTS5 index of that table, PostgreSQL a GIN index; neither stores texts or positions. Scripts that put no space between
words, such as Chinese, Japanese and Thai, look like one word a sentence: two and three of their characters in a row are a word,
so that any part of a sentence is found. Intake only notes which traces are new or have changed
(`trace_words_due`, by triggers, so that no hand-written statement makes the index wrong); `trace/passages.py` reads their texts
later. `mark` tells one change from the next: words that were read before the last change are not stored.

**Parts.** A search of cases finds a text anywhere, also inside a word. SQLite keeps every three characters in a row that a case
holds (`trigram`); a case that holds them all is then looked at itself. Cases that the index does not know yet, and those too
long for it, are always looked at, so that a search finds the same with and without it. PostgreSQL reads the texts.
"""

import re
import unicodedata
from collections.abc import Iterable

from sqlalchemy import Connection

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
WORD = re.compile(r"[^\W_]+")
ASCII_WORD = re.compile(r"[a-z0-9]+")
ACCENTS = re.compile("[\u0300-\u036f]")
LONGEST_WORD = 500  # characters; PostgreSQL takes words of 2,046 bytes
MOST_READ = 4_000_000  # characters of one trace
MOST_CHARACTERS = 400_000  # of the words of one trace; PostgreSQL takes a megabyte


def fold(given: str) -> str:
    """A text as it is searched: in lower case, without accents."""
    if given.isascii():
        return given.lower()
    return unicodedata.normalize("NFC", ACCENTS.sub("", unicodedata.normalize("NFD", given))).casefold()


def parts_of(run: str) -> list[str]:
    """The parts by which a run of characters is looked for: every three in a row, or fewer where there are no more."""
    return [run[at : at + 3] for at in range(max(1, len(run) - 2))]


def indexed_words(texts: Iterable[str]) -> list[str]:
    """The distinct words by which texts are found."""
    words: set[str] = set()
    left = MOST_READ
    for given in texts:
        folded = fold(given[:left])
        if folded.isascii():
            words.update(ASCII_WORD.findall(folded))
        else:
            words.update(WORD.findall(RUN.sub(" ", folded)))
            for run in RUN.findall(folded):
                # The last characters too, so that each begins a word and is found alone as a beginning.
                words.update(run[at : at + size] for at in range(len(run)) for size in (2, 3))
        left -= len(given)
        if left <= 0:
            break
    kept, left = [], MOST_CHARACTERS
    for word in sorted(words):
        left -= len(word) + 1
        if left < 0:
            break
        kept.append(word[:LONGEST_WORD])
    return kept


_CHANGES = "name, input_text, output_text, metadata"
_DUE = "INSERT INTO trace_words_due (seq) VALUES (new.seq) ON CONFLICT (seq) DO UPDATE SET mark = excluded.mark"
_SQLITE_WORDS = (
    "CREATE TABLE trace_words (seq INTEGER PRIMARY KEY, words TEXT NOT NULL)",
    "CREATE TABLE trace_words_due (seq INTEGER PRIMARY KEY, mark REAL NOT NULL DEFAULT (random() / 9223372036854775808.0))",
    # An index without texts forgets a row only when it is given the very words that it learnt, hence the table.
    "CREATE VIRTUAL TABLE trace_words_index USING fts5(words, content='trace_words', content_rowid='seq', detail=none, "
    "columnsize=0, tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'\")",
    "CREATE TRIGGER trace_words_learn AFTER INSERT ON trace_words BEGIN "
    "INSERT INTO trace_words_index (rowid, words) VALUES (new.seq, new.words); END",
    "CREATE TRIGGER trace_words_forget AFTER DELETE ON trace_words BEGIN "
    "INSERT INTO trace_words_index (trace_words_index, rowid, words) VALUES ('delete', old.seq, old.words); END",
    f"CREATE TRIGGER trace_words_new AFTER INSERT ON traces BEGIN {_DUE}; END",
    f"CREATE TRIGGER trace_words_changed AFTER UPDATE OF {_CHANGES} ON traces BEGIN {_DUE}; END",
    "CREATE TRIGGER trace_words_gone AFTER DELETE ON traces BEGIN DELETE FROM trace_words WHERE seq = old.seq; END",
)
# Every search reads the list of late comers: kept at a quarter of the 4 MB that PostgreSQL allows, it is soon read.
_POSTGRES_WORDS = (
    "CREATE TABLE trace_words (seq INTEGER PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE TABLE trace_words_due (seq INTEGER PRIMARY KEY, mark DOUBLE PRECISION NOT NULL DEFAULT random())",
    "CREATE INDEX trace_words_index ON trace_words USING gin (words) WITH (gin_pending_list_limit = 1024)",
    "CREATE OR REPLACE FUNCTION evergold_words_due() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN {_DUE}; RETURN NULL; END $$",
    "CREATE OR REPLACE FUNCTION evergold_words_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_OP = 'TRUNCATE' THEN DELETE FROM trace_words; DELETE FROM trace_words_due; "
    "ELSE DELETE FROM trace_words WHERE seq = OLD.seq; END IF; RETURN NULL; END $$",
    "CREATE TRIGGER trace_words_gone AFTER DELETE ON traces FOR EACH ROW EXECUTE FUNCTION evergold_words_gone()",
    "CREATE TRIGGER trace_words_emptied AFTER TRUNCATE ON traces EXECUTE FUNCTION evergold_words_gone()",
    "CREATE TRIGGER trace_words_new AFTER INSERT ON traces FOR EACH ROW EXECUTE FUNCTION evergold_words_due()",
    f"CREATE TRIGGER trace_words_changed AFTER UPDATE OF {_CHANGES} ON traces FOR EACH ROW "
    "EXECUTE FUNCTION evergold_words_due()",
)
TRACE_INDEXES = {"sqlite": _SQLITE_WORDS, "postgresql": _POSTGRES_WORDS}
BEFORE_CONVERSATIONS = {
    "sqlite": (
        *map("DROP TRIGGER IF EXISTS trace_{}".format, ("words_gone", "words_changed", "grams_gone", "grams_changed")),
        *map("DROP TABLE IF EXISTS trace_{}".format, ("words", "words_upto", "grams", "grams_at")),
    ),
    "postgresql": (
        "DROP INDEX IF EXISTS trace_words",
        "DROP INDEX IF EXISTS trace_grams",
        "DROP FUNCTION IF EXISTS evergold_grams",
    ),
}
"""What takes the index of schema 0026 away, which held the beginnings of question and answer."""


def count_due(connection: Connection, most: int) -> int:
    """How many traces wait to be indexed; `most` is where counting ends."""
    query = f"SELECT count(*) FROM (SELECT 1 FROM trace_words_due LIMIT {most}) AS due"
    return int(connection.exec_driver_sql(query).scalar_one())


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
HOLDERS = f"""eval_dataset.id IN (
    SELECT rowid FROM case_parts WHERE case_parts MATCH :triples
    UNION ALL SELECT id FROM eval_dataset WHERE {_LONG}
    UNION ALL SELECT id FROM eval_dataset WHERE id > (SELECT id FROM case_parts_upto))"""


def triples_in(search: str, dialect: str) -> str | None:
    """The parameter of HOLDERS, by which a case may hold a text; None where no index says so."""
    triples = [search[at : at + 3] for at in range(len(search) - 2)][:MOST_TRIPLES]
    if dialect != "sqlite" or not triples or "\x00" in search:
        return None
    return " AND ".join('"{}"'.format(triple.replace('"', '""')) for triple in dict.fromkeys(triples))


def parts_waiting(connection: Connection) -> tuple[int, int]:
    """The last case that the index knows, and the last there is; the same where nothing waits."""
    if connection.dialect.name != "sqlite":
        return 0, 0
    row = connection.exec_driver_sql("SELECT id, (SELECT max(id) FROM eval_dataset) FROM case_parts_upto").one()
    return row[0], max(row[0], row[1] or 0)


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
    for index in ("trace_words_index", "case_parts") if connection.dialect.name == "sqlite" else ():
        connection.exec_driver_sql(f"INSERT INTO {index} ({index}) VALUES ('optimize')")

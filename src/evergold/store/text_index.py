"""The full-text index of traces: words of whole conversations.

`trace_words` has a row for each trace that is indexed: its distinct words, without accents and in lower case. SQLite
has an FTS5 index of that table, PostgreSQL a GIN index; neither stores texts or positions. Scripts that put no space between
words, such as Chinese, Japanese and Thai, look like one word a sentence: two and three of their characters in a row are a word,
so that any part of a sentence is found. Intake only notes which traces are new or have changed
(`trace_words_due`, by triggers, so that no hand-written statement makes the index wrong); `trace/passages.py` reads their texts
later. `mark` tells one change from the next: words that were read before the last change are not stored. Cases have no such
index: a search of them reads their texts.
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


def count_due(connection: Connection, most: int) -> int:
    """How many traces wait to be indexed; `most` is where counting ends."""
    query = f"SELECT count(*) FROM (SELECT 1 FROM trace_words_due LIMIT {most}) AS due"
    return int(connection.exec_driver_sql(query).scalar_one())


def forget_deleted(connection: Connection) -> None:
    """Write the index anew without the texts of rows that are gone: deleting alone only marks them."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO trace_words_index (trace_words_index) VALUES ('optimize')")

"""The index of scripts that put no space between words: Chinese, Japanese, Thai and others.

The word index sees a whole sentence of them as one word. Here each character of such a script is indexed together with the
one after it, so that any part of a sentence is found: by its pairs of characters, and then by the text itself.
SQLite keeps an FTS5 index of the pairs, PostgreSQL a GIN index. Both cover what the word index covers, and only traces that
hold such a script cost anything.
"""

import re
from typing import Any

from sqlalchemy import Connection, Table, event

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
LONGEST = 1000  # characters of name, question and answer together that are looked at


def _text_of(row: str) -> str:
    parts = (f"{row}name", *(f"substr(coalesce({row}{side}, ''), 1, 300)" for side in ("input_text", "output_text")))
    return f"substr({' || char(10) || '.join(parts)}, 1, {LONGEST})"


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
_FORGET = (
    f"INSERT INTO trace_grams (trace_grams, rowid, pairs) SELECT 'delete', * FROM ({_pairs_of('old.')}) WHERE {_OLD};"
)
_LEARN = f"INSERT INTO trace_grams (rowid, pairs) SELECT * FROM ({_pairs_of('new.')}) WHERE {_NEW};"
LEARN_MANY = f"""INSERT INTO trace_grams (rowid, pairs)
    SELECT t.seq, (SELECT group_concat(substr(t.text, p.at, 2), ' ') FROM trace_grams_at p
      WHERE p.at <= length(t.text) AND substr(t.text, p.at, 1) GLOB '{CLASS}')
    FROM (SELECT seq, {_text_of("")} AS text FROM traces WHERE seq > ? AND seq <= ?) t
    WHERE {_HOLDS.format(text="t.text")}"""
SQLITE_TRIGGERS = (
    # The condition of the trigger, because that of its statement is looked at after the pairs are made.
    f"CREATE TRIGGER trace_grams_gone AFTER DELETE ON traces WHEN {_KNOWN} AND {_OLD} BEGIN {_FORGET} END",
    f"CREATE TRIGGER trace_grams_changed AFTER UPDATE OF name, input_text, output_text ON traces "
    f"WHEN {_KNOWN} AND ({_CHANGED}) AND (({_OLD}) OR ({_NEW})) BEGIN {_FORGET} {_LEARN} END",
)
# `content=''` and `detail=none`: the index stores neither texts nor positions, only which rows hold a pair.
SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE trace_grams USING fts5(pairs, content='', detail=none, columnsize=0, "
    "tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'\")",
    "CREATE TABLE trace_grams_at (at INTEGER PRIMARY KEY)",
    f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LONGEST}) "
    "INSERT INTO trace_grams_at SELECT i FROM n",
    *SQLITE_TRIGGERS,
)
POSTGRES_TEXT = _text_of("").replace("char(10)", "chr(10)")
POSTGRES_GRAMS = f"evergold_grams({POSTGRES_TEXT})"
POSTGRES_HOLDS = f"{POSTGRES_TEXT} ~ '{CLASS}'"
POSTGRES_INDEX = (
    f"""CREATE OR REPLACE FUNCTION evergold_grams(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT gram), '{{}}') FROM (
      SELECT substr(given, p, s) AS gram FROM generate_series(1, length(given)) p, (VALUES (1), (2)) sizes(s)
      WHERE substr(given, p, 1) ~ '{CLASS}') grams $$""",
    f"CREATE INDEX trace_grams ON traces USING gin (({POSTGRES_GRAMS})) WHERE {POSTGRES_HOLDS}",
)


def keep_gram_index(traces: Table) -> None:
    """Create the index together with its table, and drop it with it."""

    @event.listens_for(traces, "after_create")
    def create(_table: Any, connection: Connection, **_: Any) -> None:
        for statement in SQLITE_INDEX if connection.dialect.name == "sqlite" else POSTGRES_INDEX:
            connection.exec_driver_sql(statement)

    @event.listens_for(traces, "before_drop")
    def drop(_table: Any, connection: Connection, **_: Any) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TABLE IF EXISTS trace_grams")
            connection.exec_driver_sql("DROP TABLE IF EXISTS trace_grams_at")


def pairs_of(run: str) -> list[str]:
    """The pairs of characters that a text which holds `run` holds; of a single character, that character."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]

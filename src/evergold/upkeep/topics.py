"""Topics of traces and cases: sorted a little at a time, stable from day to day, changed by people.

Whatever comes is given the topic of its question, or the nearest one. The space in which near is meant is learnt from a draw of
the questions and learnt again whenever there are twice as many, up to a limit; a topic keeps its id while most of its members
stay together. Questions that lie near no topic are kept apart, and become topics of their own when enough of them are
alike. What a person renamed, merged or split keeps its name and its members. No text leaves the machine.
"""

import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import compress
from math import inf
from typing import Any

import numpy as np
from sqlalchemy import Connection

from evergold.errors import BadInput, Conflict
from evergold.judge.encoder import shipped_encoder
from evergold.model.upkeep import Topic, TopicChange, TopicPosition
from evergold.store import Store
from evergold.store.database.rows import dumps, loads, stamp
from evergold.store.facts import fact, hold_lease, put_fact
from evergold.store.topics import (
    AT_ONCE,
    AskedQuestion,
    TopicCounts,
    add_topic,
    change_topics,
    count_questions,
    count_topics,
    decide_topic,
    get_topic,
    members_of,
    merge_topics,
    put_members,
    questions_after,
    read_topics,
    rename_topic,
    set_topics,
    take_new,
    topics_of_questions,
)
from evergold.text.words import fold_text
from evergold.upkeep.clusters import (
    NONE,
    Floats,
    Labels,
    Space,
    drop_small,
    find_communities,
    fit_members,
    from_text,
    learn_space,
    match_groups,
    name_groups,
    scale_rows,
    sum_groups,
    to_text,
)

SPACE, CURSOR = "topics.space", "topics.cursor"  # facts: the space; the last question that was sorted anew in it
DRAWN = 12_000  # questions that topics are learnt from
FIRST = 30  # questions before there are any topics
POOL, LARGEST_POOL = 20, 4_000  # questions near no topic that are worth a look; the most that are looked at
SETTLED_SECONDS = 60  # without news before a trace that is made of spans is sorted
REST_SECONDS = 20.0
ENOUGH_GOLDEN = 3
SHOWN_MEMBERS = 20
LONGEST_NAME = 100
DONE = "~"  # behind every hash


class Topics:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._rest_until = 0.0
        self._changed = True
        self._space: tuple[str, Space | None, int, int] = ("", None, 0, 0)

    def all(self, seconds: float = inf) -> list[Topic]:
        """Sort what waits, for so many seconds at most, and list the topics, the ones with most traces first."""
        self.refresh(seconds)
        with self._store.db.read() as connection:
            counts, rows = count_topics(connection), read_topics(connection)
        listed = [
            Topic(id=row.id, name=row.name, covered=its.golden >= ENOUGH_GOLDEN, **its._asdict())
            for row in rows
            if (its := counts.get(row.id, TopicCounts())) != TopicCounts()
        ]
        return sorted(listed, key=lambda topic: (-topic.traces, -topic.golden, topic.id))

    def members(self, topic: int, most: int = SHOWN_MEMBERS) -> list[str]:
        """List traces of a topic, the newest first."""
        return self._store.read(members_of, topic, most)

    def map(self) -> list[TopicPosition]:
        """Lay the centres of topics out on a plane: the two directions in which they differ most."""
        with self._store.db.read() as connection:
            rows = [row for row in read_topics(connection) if row.centre]
        space = self._load()
        if space is None or not rows:
            return []
        centres = np.concatenate([from_text(row.centre, space.axes.shape[1]) for row in rows])
        apart = centres - centres.mean(axis=0)
        _, _, directions = np.linalg.svd(apart, full_matrices=False)
        flat = apart @ directions[:2].T
        flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
        low, high = flat.min(axis=0), flat.max(axis=0)
        flat = (flat - low) / np.maximum(high - low, 1e-9)
        return [
            TopicPosition(id=row.id, x=round(float(x), 4), y=round(float(y), 4))
            for row, (x, y) in zip(rows, flat, strict=True)
        ]

    def change(self, topic: int, wanted: TopicChange, who: str) -> list[Topic]:
        """Rename, merge or split a topic for good; the topics after that."""
        if sum((wanted.name is not None, bool(wanted.merge), wanted.split is not None)) != 1:
            raise BadInput("give one of: name, merge (topics to take in), split (a number of parts)")
        if wanted.name is not None:
            self.rename(topic, wanted.name, who)
        elif wanted.merge:
            self.merge(wanted.merge, topic, who)
        else:
            self.split(topic, wanted.split or 0, who)
        return self.all()

    def rename(self, topic: int, name: str, who: str) -> None:
        """Give a topic a name that no machine changes."""
        bare = " ".join(name.split())
        if not 0 < len(bare) <= LONGEST_NAME:
            raise BadInput(f"a name of {len(bare)} letters; give one of 1 to {LONGEST_NAME}")
        self._store.write(rename_topic, topic, bare, who)

    def merge(self, parts: Sequence[int], into: int, who: str) -> None:
        """Make topics part of another for good."""
        if into in parts:
            raise BadInput(f"topic {into} cannot be merged into itself; name another one")
        among = ", ".join(str(int(topic)) for topic in (*parts, into))
        _, points = self._questions(f"m.topic IN ({among})")
        self._store.write(merge_topics, list(parts), into, _centre(points), who)

    def split(self, topic: int, parts: int, who: str) -> list[int]:
        """Part a topic for good by what its questions have in common; the largest part keeps the id. Returns the new ids."""
        held = self._store.read(get_topic, topic)
        questions, points = self._questions(f"m.topic = {int(topic)}")
        if not 2 <= parts <= min(20, len(questions)):
            raise BadInput(
                f"{parts} parts of {len(questions)} different questions; give 2 to {min(20, len(questions))}"
            )
        labels = _part(points, parts)
        names = name_groups([question.text for question in questions], labels.tolist())

        def work(connection: Connection) -> list[int]:
            made = []
            for label in range(1, int(labels.max()) + 1):
                made.append(add_topic(connection, names[label], _centre(points[labels == label]), who))
                set_topics(connection, {question.hash: made[-1] for question in compress(questions, labels == label)})
            change_topics(connection, [{"id": topic, "name": held.name, "centre": _centre(points[labels == 0])}])
            decide_topic(connection, topic, who)
            return made

        return self._store.db.write(work)

    def refresh(self, seconds: float = inf) -> None:
        """Sort everything that waits, or what can be sorted in so many seconds."""
        until = time.monotonic() + seconds
        while self.step() and time.monotonic() < until:
            pass

    def at_leisure(self) -> bool:
        """Do a little, unless it rests because nothing was left to do; whether there is more."""
        if time.monotonic() < self._rest_until:
            return False
        more = self.step()
        if not more:
            self._rest_until = time.monotonic() + REST_SECONDS
        return more

    def step(self) -> bool:
        """Sort some of what came, else go on with learning; whether there was anything to do."""
        settled = str(stamp(datetime.now(UTC) - timedelta(seconds=SETTLED_SECONDS)))
        for kind in ("trace", "case"):
            rows = self._store.read(take_new, kind, settled)
            if rows:
                self._sort(kind, rows)
                self._changed = True
                return True
        if not self._changed and self._store.read(fact, CURSOR) in (None, DONE):
            return False
        try:
            with hold_lease(self._store.db, "topics", "learning topics"):
                return self._sort_again() or (self._changed and (self._learn() or self._grow()))
        except Conflict:  # another process is at it
            return False

    def _sort(self, kind: str, rows: Sequence[tuple[int, Any, str]]) -> None:
        """Give new members the topic of their question, or the nearest one."""
        # Questions that differ only in case, accents and blanks have the same hash; no question has none.
        folded = (" ".join(fold_text(text).split()).encode("utf-8", "replace") for _, _, text in rows)
        hashes = [hashlib.blake2b(text, digest_size=12).hexdigest() if text else "" for text in folded]
        known = self._store.read(topics_of_questions, set(hashes))
        fresh = {name: row[2] for name, row in zip(hashes, rows, strict=True) if name and name not in known}
        space = self._load()
        if space is not None and fresh:
            known |= dict(zip(fresh, self._find_nearest(space, list(fresh.values())), strict=True))
        members = [
            {"key": row[1], "question": name, "topic": known.get(name)} for name, row in zip(hashes, rows, strict=True)
        ]
        self._store.db.write(partial(put_members, kind=kind, rows=members, upto=max(row[0] for row in rows)))

    def _find_nearest(self, space: Space, texts: Sequence[str]) -> list[int | None]:
        with self._store.db.read() as connection:
            rows = [row for row in read_topics(connection) if row.centre]
        width = space.axes.shape[1]
        centres = np.concatenate([np.zeros((0, width), np.float32), *(from_text(row.centre, width) for row in rows)])
        nearest, _ = space.find_nearest(space.project(shipped_encoder().embed(texts)), centres)
        return [rows[number].id if number != NONE else None for number in nearest.tolist()]

    def _sort_again(self) -> bool:
        """Sort some questions anew that were sorted in an earlier space; whether there were any."""
        with self._store.db.read() as connection:
            cursor = fact(connection, CURSOR) or DONE
            questions = [] if cursor == DONE else questions_after(connection, cursor, AT_ONCE)
            decided = {row.id for row in read_topics(connection) if row.decided} if questions else set()
        space = self._load()
        if cursor == DONE or space is None:
            return False
        free = [question for question in questions if question.topic not in decided]
        nearest = self._find_nearest(space, [question.text for question in free])
        moved = {each.hash: topic for each, topic in zip(free, nearest, strict=True) if topic != each.topic}

        def work(connection: Connection) -> None:
            set_topics(connection, moved)
            put_fact(connection, CURSOR, questions[-1].hash if questions else DONE)

        self._store.db.write(work)
        return True

    def _learn(self) -> bool:
        """Learn topics and their space from a draw of all questions, where there are twice as many as the last time."""
        self._load()
        built, there = self._space[2], self._store.read(count_questions)
        if built >= DRAWN or there < max(FIRST, 2 * built):
            return False
        with self._store.db.read() as connection:
            questions = questions_after(connection, "", DRAWN)
            decided = {row.id: row.name for row in read_topics(connection) if row.decided and row.merged_into is None}
        texts = [question.text for question in questions]
        vectors = shipped_encoder().embed(texts)
        free = np.array([question.topic not in decided for question in questions], dtype=bool)
        labels = np.full(len(questions), NONE)
        labels[free] = drop_small(find_communities(scale_rows(vectors[free] - vectors[free].mean(axis=0))))
        groups = int(labels.max()) + 1
        chosen = sorted({question.topic for question in questions if question.topic in decided} - {None}, key=str)
        numbers = {topic: groups + number for number, topic in enumerate(chosen)}
        labels[~free] = [numbers[question.topic] for question in questions if question.topic in decided]
        if labels.max() < 0:
            return False
        space = learn_space(vectors, labels)
        points = space.project(vectors)
        centres = scale_rows(sum_groups(points, labels, int(labels.max()) + 1))
        near = np.where(free, space.find_nearest(points, centres)[0], labels)
        before = [question.topic if question.topic not in decided else None for question in questions]
        ids = match_groups(before, np.where(near < groups, near, NONE).tolist())
        ids |= {number: topic for topic, number in numbers.items() if topic is not None}
        names = name_groups(texts, labels.tolist())

        def work(connection: Connection) -> None:
            unused = {row.id for row in read_topics(connection) if row.centre} - set(ids.values())
            change_topics(connection, [{"id": topic, "name": "", "centre": ""} for topic in unused])
            for number, centre in enumerate(centres):
                row = {"name": names[number], "centre": to_text(centre)}
                if number in ids:
                    change_topics(connection, [row | {"id": ids[number]}])
                else:
                    ids[number] = add_topic(connection, **row)
            set_topics(connection, {q.hash: ids.get(int(one)) for q, one in zip(questions, near, strict=True)})
            self._keep_space(connection, space, there, 0)
            put_fact(connection, CURSOR, questions[-1].hash)

        self._store.db.write(work)
        return True

    def _grow(self) -> bool:
        """Make topics of questions that lie near none, where enough of them are alike."""
        self._changed = False
        space = self._load()
        _, _, built, looked = self._space
        loose = self._store.read(count_questions, loose=True) if space is not None else 0
        if space is None or loose < POOL or loose < looked + max(POOL, looked // 5):
            return False
        questions, points = self._questions("m.topic IS NULL AND m.question <> ''")
        labels = drop_small(find_communities(points))
        if labels.max() >= 0:
            fit = fit_members(points, labels)
            # A group whose members do not lie as near each other as those of a topic is none.
            together = [float(np.median(fit[labels == label])) >= space.least for label in range(int(labels.max()) + 1)]
            labels = np.array([label if label >= 0 and together[label] else NONE for label in labels])
        names = name_groups([question.text for question in questions], labels.tolist())

        def work(connection: Connection) -> None:
            for label in sorted(set(labels.tolist()) - {NONE}):
                topic = add_topic(connection, names[label], _centre(points[labels == label]))
                set_topics(connection, {question.hash: topic for question in compress(questions, labels == label)})
            self._keep_space(connection, space, built, loose - int((labels >= 0).sum()))

        self._store.db.write(work)
        return True

    def _questions(self, which: str) -> tuple[list[AskedQuestion], Floats]:
        """Read the different questions of members, and where they lie."""
        space = self._load()
        if space is None:
            raise BadInput(f"there are no topics yet; they are learnt from {FIRST} different questions")
        questions = self._store.read(questions_after, "", LARGEST_POOL, which)
        return questions, space.project(shipped_encoder().embed([question.text for question in questions]))

    def _keep_space(self, connection: Connection, space: Space, built: int, looked: int) -> None:
        kept = {"mean": to_text(space.mean), "axes": to_text(space.axes), "least": space.least}
        kept |= {"width": space.axes.shape[1], "built": built, "looked": looked}
        put_fact(connection, SPACE, dumps(kept))

    def _load(self) -> Space | None:
        """Read the space, unless it is the one that was read before."""
        written = self._store.read(fact, SPACE) or ""
        if written != self._space[0]:
            kept = loads(written)
            axes = from_text(kept["axes"], kept["width"])
            space = Space(mean=from_text(kept["mean"], len(axes))[0], axes=axes, least=kept["least"])
            self._space = (written, space, kept["built"], kept["looked"])
        return self._space[1]


def _centre(points: Floats) -> str:
    return to_text(scale_rows(points.sum(axis=0, keepdims=True)))


def _part(points: Floats, parts: int) -> Labels:
    """Part points into groups around centres that begin far from each other (k-means), the largest group first."""
    centres = points[:1]
    for _ in range(parts - 1):
        centres = np.concatenate([centres, points[(points @ centres.T).max(axis=1).argmin()][None]])
    for _ in range(20):
        labels = (points @ centres.T).argmax(axis=1)
        centres = scale_rows(sum_groups(points, labels, parts))
    order = np.argsort(-np.bincount(labels, minlength=parts), kind="stable")
    ranks: Labels = np.argsort(order)[labels]
    return ranks

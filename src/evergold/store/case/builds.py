"""Builds: the versions of a dataset and the splits of each; and the builds and runs that a case went into."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, insert

from evergold.errors import Conflict, NotFound, describe_unknown
from evergold.model.build import Build, BuildStep, RunStep
from evergold.model.case import Case
from evergold.model.policy import Policy
from evergold.store.database.rows import dumps, insert_rows, loads, run_sql, stamp
from evergold.store.schema import TIER, build_cases, builds


def put_build(connection: Connection, build: Build, rows: Sequence[tuple[str, str, str]]) -> None:
    """Remember a build and its cases (id, rev, split). The same build again changes nothing; another is a conflict."""
    held = find_build(connection, build.dataset, build.version)
    # A version names one content for ever: results of runs point at it.
    if held is not None and held.content_hash != build.content_hash:
        raise Conflict(f"{build.dataset} {build.version} is built already, with other content; choose a new version")
    if held is not None:
        return
    values = build.model_dump(mode="json", exclude={"manifest", "created_at"})
    values |= {"manifest": dumps(build.manifest), "created_at": stamp(build.created_at)}
    build_id = connection.execute(insert(builds).values(values).returning(builds.c.id)).scalar_one()
    members = [(build_id, *row) for row in rows]
    insert_rows(connection, build_cases, ("build_id", "case_id", "rev", "split"), members)


def replace_build(connection: Connection, build: Build) -> None:
    """Remember a build whose files were written over on purpose: what is known of the version is what is there."""
    held = find_build(connection, build.dataset, build.version)
    if held is not None and held.content_hash != build.content_hash:
        drop = "DELETE FROM builds WHERE dataset = :dataset AND version = :version"
        run_sql(connection, drop, dataset=build.dataset, version=build.version)
    put_build(connection, build, ())


def find_build(connection: Connection, dataset: str, version: str) -> Build | None:
    return next(iter(list_builds(connection, dataset, version)), None)


def get_build(connection: Connection, dataset: str, version: str) -> Build:
    result = find_build(connection, dataset, version)
    if result is None:
        known = ", ".join(build.version for build in list_builds(connection, dataset)) or "none yet"
        raise NotFound(f"no build {version!r} of dataset {dataset!r} (there are: {known})")
    return result


def list_builds(connection: Connection, dataset: str | None = None, version: str | None = None) -> list[Build]:
    """Oldest first."""
    query = """SELECT * FROM builds WHERE (CAST(:dataset AS text) IS NULL OR dataset = :dataset)
        AND (CAST(:version AS text) IS NULL OR version = :version) ORDER BY dataset, id"""
    return [
        Build.model_validate({name: row[name] for name in Build.model_fields} | {"manifest": loads(row["manifest"])})
        for row in run_sql(connection, query, dataset=dataset, version=version).mappings()
    ]


def placements(connection: Connection, dataset: str, versions: Sequence[str], splits: Sequence[str]) -> dict[str, str]:
    """Case id → the one of these splits that the newest of these versions had it in."""
    # Oldest first, so that the dict keeps the placement of the newest build.
    query = """SELECT c.case_id, c.split FROM build_cases c JOIN builds b ON b.id = c.build_id
        WHERE b.dataset = :dataset AND b.version IN :versions AND c.split IN :splits ORDER BY b.id"""
    rows = run_sql(connection, query, dataset=dataset, versions=tuple(versions), splits=tuple(splits))
    return {row.case_id: row.split for row in rows}


def dataset_counts(connection: Connection) -> list[dict[str, Any]]:
    """Every dataset with its cases by kind, type (`candidate` apart from `golden`), review state and status."""
    tier = f"CASE WHEN {TIER} = 'candidate' THEN 'candidate' ELSE entry_type END AS entry_type"
    query = f"""SELECT dataset, kind, {tier}, review, status, count(*) AS cases FROM eval_dataset
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"""
    return [dict(row) for row in run_sql(connection, query).mappings()]


def require_dataset(connection: "Connection", name: str) -> None:
    """A dataset that holds nothing yet is empty; one that nobody ever named is a slip of the pen."""
    known = {Policy().dataset, *(row["dataset"] for row in dataset_counts(connection))}
    if name not in known:
        raise NotFound(describe_unknown("dataset", name, sorted(known)))


NEWEST_RUNS = 50


def builds_with(connection: Connection, dataset: str, case_id: str) -> list[BuildStep]:
    """Oldest first."""
    query = """SELECT b.version, c.split, c.rev, b.created_at FROM builds b JOIN build_cases c ON c.build_id = b.id
        WHERE b.dataset = :dataset AND c.case_id = :case ORDER BY b.id"""
    return [BuildStep(**row) for row in run_sql(connection, query, dataset=dataset, case=case_id).mappings()]


def runs_with(connection: Connection, dataset: str, case_id: str) -> Iterator[RunStep]:
    """The newest runs that have the case: of the dataset as it was, or of one of its builds, under whatever name."""
    built = "SELECT b.version FROM builds b WHERE b.dataset = :dataset AND b.content_hash = r.build_hash"
    query = f"""SELECT r.id, r.model, r.status, r.created_at, c.body, ({built} ORDER BY b.id LIMIT 1) AS build,
          (SELECT count(*) FROM attempts a WHERE a.run_id = r.id AND a.case_id = :case) AS attempts
        FROM runs r JOIN run_cases c ON c.run_id = r.id AND c.case_id = :case
        WHERE r.dataset = :dataset OR EXISTS ({built}) ORDER BY r.created_at DESC, r.id DESC LIMIT {NEWEST_RUNS}"""
    for row in run_sql(connection, query, dataset=dataset, case=case_id).mappings():
        rev = Case.model_validate_json(row["body"]).rev()
        yield RunStep.model_validate({name: row[name] for name in row if name != "body"} | {"rev": rev})

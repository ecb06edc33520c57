"""MLflow records: as `mlflow.genai.evaluate` reads a list of them, and as rows of an evaluation dataset."""

import json
import sys
from pathlib import Path

from mlflow.entities import DatasetRecord, DatasetRecordSource
from mlflow.genai.evaluation.utils import _convert_to_eval_set

records = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").split("\n") if line]
table = _convert_to_eval_set(records)
table = table.astype(object).where(table.notna(), None)
rows = [
    DatasetRecord(
        dataset_id="d",
        dataset_record_id=str(number),
        created_time=0,
        last_update_time=0,
        inputs=record["inputs"],
        outputs=record["outputs"],
        expectations=record["expectations"],
        tags=record["tags"],
        source=DatasetRecordSource.from_dict(record["source"]),
    )
    for number, record in enumerate(records)
]
seen = [DatasetRecord.from_proto(row.to_proto()) for row in rows]
shown = [
    {
        "inputs": row.inputs,
        "outputs": row.outputs,
        "expectations": row.expectations,
        "tags": row.tags,
        "source": row.source.source_data,
    }
    for row in seen
]
json.dump({"evaluated": table[["inputs", "outputs", "expectations"]].to_dict("records"), "stored": shown}, sys.stdout)

#!/usr/bin/env bash
# A benchmark gate for any CI: run the candidate, compare it with the baseline run kept from the main branch.
#
#   MODEL=openai/gpt-4o DATASET=basic-coding ./gate.sh
#
# Exit code 0: no regression. 1: a regression. 3: these cases cannot tell. 2: it could not run.
# Keep the folder .evergold between jobs (a CI cache or artifact), or set EVERGOLD_DATABASE_URL to a PostgreSQL.
set -euo pipefail

dataset=${DATASET:-basic-coding}
model=${MODEL:?set MODEL, for example openai/gpt-4o}
metric=${METRIC:-correctness}

field() { python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }

baseline=$(evergold runs list --dataset "$dataset" --status completed --limit 1 --json |
  field "d['runs'][0]['id'] if d['runs'] else ''")
evergold run "$dataset" --model "$model" --metric "$metric" --json > run.json
candidate=$(field "d['run']['id']" < run.json)

if [ -z "$baseline" ]; then
  echo "no baseline yet; $candidate is the first"
else
  evergold compare "$baseline" "$candidate" --gate
fi

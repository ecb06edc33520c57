#!/usr/bin/env bash
# A benchmark gate for any CI: run the candidate, compare it with the newest run that passed.
#
#   MODEL=openai/gpt-4o DATASET=basic-coding ./gate.sh
#
# Exit code 0: no regression. 1: a regression. 3: these cases cannot tell. 2: it could not run.
# Small sets: below 200 cases each case that fails is tried again (--gate cases), which tells from the first case on. 3 is left
# where even that is undecided: add cases (evergold curate, evergold review), give --trials 3, or let 3 pass with `|| [ $? -eq 3 ]`.
# The baseline is the run that BASELINE names, else the one in the file BASELINE_FILE. A candidate that passes, or is the first,
# is written there as the next baseline; one that does not pass never is. PROMOTE=0 writes nothing, for branches.
# Keep the folder .evergold between jobs (a CI cache or artifact), or set EVERGOLD_DATABASE_URL to a PostgreSQL and keep the
# file alone.
set -euo pipefail

dataset=${DATASET:-basic-coding}
model=${MODEL:?set MODEL, for example openai/gpt-4o}
metric=${METRIC:-correctness}
file=${BASELINE_FILE:-.evergold/baselines/${dataset//\//_}}

baseline=${BASELINE:-$(cat "$file" 2>/dev/null || true)}
evergold run "$dataset" --model "$model" --metric "$metric" --json > run.json
candidate=$(python3 -c "import json, sys; print(json.load(sys.stdin)['run']['id'])" < run.json)

if [ -z "$baseline" ]; then
  echo "no baseline yet; compared $candidate with nothing"
else
  # Below 200 cases a mean cannot rule out a small drop: there each case that fails is tried again instead.
  cases=$(python3 -c "import json, sys; print(json.load(sys.stdin)['means'][0]['n'])" < run.json)
  if [ "$cases" -lt 200 ]; then gate="--gate cases"; else gate=--gate; fi
  evergold compare "$baseline" "$candidate" $gate
fi

# Reached only where nothing failed: `set -e` ends the script with the exit code of the comparison.
if [ "${PROMOTE:-1}" != 0 ]; then
  mkdir -p "$(dirname "$file")"
  echo "$candidate" > "$file"
  echo "$candidate is the baseline of the next run"
fi

#!/usr/bin/env bash
# Record a flow, replay it, and compare the replay with the recording. Ends with 1 when the replay differs.
#
#     bash examples/record_replay_compare.sh
set -euo pipefail
serial=record-replay
work=$(mktemp -d)
clawperator() { command clawperator --device "$serial" --output text "$@"; }
trap 'command clawperator phone delete "$serial" --force >/dev/null; rm -rf "$work"' EXIT

command clawperator phone start "$serial" >/dev/null
clawperator press home
clawperator recording start --session-id dark
clawperator open com.android.settings
clawperator click --text Display
clawperator click --text "Dark theme"
clawperator recording stop --session-id dark
clawperator recording pull --session-id dark --out "$work"
clawperator recording export --input "$work/dark.ndjson"
clawperator press home
command clawperator --device "$serial" recording replay --input "$work/dark.ndjson" > "$work/replay.json"
clawperator recording compare --baseline "$work/dark.export.json" --result "$work/replay.json" --strategy derived
clawperator report "$work/dark.ndjson" --compare "$work/replay.json"

#!/usr/bin/env bash
# Clawperator's main job on a simulated phone: validate and run a plan, record a person, export the recording, compare
# runs with it, run instructions in plain English, and write a report of what was recorded.
# Works in a fresh folder ./demo beside this file. Stops at the first unexpected result.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
rm -rf demo
mkdir demo
cd demo

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
fi

fail() {
  printf '%sdemo: %s%s\n' "$bold" "$1" "$plain" >&2
  exit 1
}

number=0
heading() {
  number=$((number + 1))
  printf '\n%s%d. %s%s\n' "$bold" "$number" "$1" "$plain"
}

# typed WORD...: print a command as it would be typed.
typed() {
  local word
  for word in "$@"; do
    case $word in
      *' '*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
}

# run EXIT HEAD TAIL COMMAND...: run it, show the first and last lines, check the exit code.
run() {
  local want=$1 head=$2 tail=$3 got=0 lines
  shift 3
  printf '%s$%s%s\n' "$bold" "$(typed "$@")" "$plain"
  "$@" >answer 2>&1 || got=$?
  [ "$(tail -c 1 answer)" = '' ] || echo >>answer
  lines=$(wc -l <answer)
  if [ "$lines" -le $((head + tail + 1)) ]; then
    cut -c 1-500 answer
  else
    head -n "$head" answer | cut -c 1-500
    printf '%s... (%d more lines)%s\n' "$dim" $((lines - head - tail)) "$plain"
    tail -n "$tail" answer | cut -c 1-500
  fi
  [ "$got" -eq 0 ] || printf '%s(exit code %d)%s\n' "$dim" "$got" "$plain"
  [ "$got" -eq "$want" ] || fail "expected exit code $want, got $got"
}

# expect TEXT...: the last output contains each text.
expect() {
  local text
  for text in "$@"; do
    grep -qF -- "$text" answer || fail "expected in the output: $text"
  done
}

# --- inputs -------------------------------------------------------------------------------------

# A separate home and no adb server: the simulated phone is the only device, whatever else is connected.
export CLAWPERATOR_HOME="$PWD/home" ANDROID_ADB_SERVER_PORT=1
trap 'clawperator phone stop --all >/dev/null' EXIT

app=com.solaxcloud.starter

cat >plan.json <<EOF
{
  "commandId": "solar-look-1",
  "taskId": "solar-look",
  "source": "demo",
  "expectedFormat": "android-ui-automator",
  "timeoutMs": 30000,
  "actions": [
    {"id": "open", "type": "open_app", "params": {"app": "$app"}},
    {"id": "wait", "type": "wait_for_navigation", "params": {"expected_package": "$app", "timeout_ms": 5000}},
    {"id": "look", "type": "snapshot"}
  ]
}
EOF
sed 's/"expected_package"/"uri"/' plan.json >bad-plan.json

cat >person.py <<'EOF'
"""Plays the person: finds an element on the screen and taps it."""

import clawperator

phone = clawperator.connect()


def touch(label=None, **marks):
    phone.wait(label, **marks)
    x, y = phone.snapshot().find(label, **marks).bounds.centre
    phone.shell("input", "tap", str(x), str(y))


touch("SolaXCloud")
touch("Intelligence")
touch("ON")
touch(text_contains="Device Discharging")
touch(text_contains="Discharge to")
touch(role="textfield")
phone.shell("input", "keyevent", "DEL", "DEL")
phone.shell("input", "text", "25")
touch("Confirm")
touch("Save")
touch("Save", role="button")
phone.wait("Discharge to 25%")
EOF

# skills_run FILE STATUS OBSERVED CHECKPOINT...: write a saved skill run for compare.
skills_run() {
  local file=$1 verification=$2 observed=$3 checkpoints='' id
  shift 3
  for id in "$@"; do
    checkpoints+="{\"id\":\"$id\",\"status\":\"ok\"},"
  done
  cat >"$file" <<EOF
{
  "status": "success",
  "skillId": "$app.set-discharge-limit",
  "exitCode": 0,
  "durationMs": 21480,
  "skillResult": {
    "contractVersion": "1.0.0",
    "skillId": "$app.set-discharge-limit",
    "goal": {"kind": "set_discharge_limit", "percent": 25},
    "status": "success",
    "checkpoints": [${checkpoints%,}],
    "terminalVerification": {
      "status": "$verification",
      "expected": {"kind": "text", "text": "Discharge to 25%"},
      "observed": {"kind": "text", "text": "$observed"}
    },
    "diagnostics": {"runtimeState": "healthy"},
    "source": {"kind": "agent", "agentCli": "agent"}
  }
}
EOF
}
skills_run faithful.skills-run.json verified 'Discharge to 25%' \
  app_opened discharge_to_row_focused target_text_entered save_completed terminal_state_verified
skills_run other-way.skills-run.json verified 'Discharge to 25%' \
  app_opened device_page_opened discharge_to_row_focused target_text_entered save_completed
skills_run wrong-end.skills-run.json failed 'Discharge to 41%' \
  app_opened discharge_to_row_focused target_text_entered save_completed

# --- the demo ---------------------------------------------------------------------------

printf '%sClawperator %s' "$bold" "$(clawperator --version)"
printf ': explicit plans in, verified results out.%s\n' "$plain"

heading 'Validate a plan. Aliases become canonical names; no phone is needed.'
run 0 60 0 clawperator exec plan.json --validate-only --output pretty
expect '"validated": true' '"type": "snapshot_ui"' '"applicationId": "com.solaxcloud.starter"'

heading 'A plan with a mistake is refused, with a typed error and a hint.'
run 1 20 0 clawperator exec bad-plan.json --validate-only --output pretty
expect EXECUTION_VALIDATION_FAILED 'uri is a parameter of open_uri'

heading 'Start a simulated phone. It runs in the background, and any adb client can connect to it.'
run 0 40 0 clawperator phone start --output pretty
expect '"serial": "claw-1"' '"connect": "adb connect 127.0.0.1:'
run 0 20 0 clawperator devices
expect '{"serial":"claw-1","state":"device"}'

heading 'Run the plan: open, wait, snapshot. Every step returns evidence.'
run 0 39 5 clawperator exec plan.json --output pretty
expect '"status": "success"' '"effect": "changed"' '"resolved_package": "com.solaxcloud.starter"' '<hierarchy'

heading 'One command per action: open a page and read a value.'
run 0 20 0 clawperator open com.android.settings
run 0 20 0 clawperator scroll-and-click --text 'About phone'
run 0 20 0 clawperator read-value --label 'Android version'
expect '"label":"Android version","value":"15"'

heading 'Inject a fault. A lost tap is reported: the screen did not change.'
run 0 20 0 clawperator phone fault dropped_tap 1
run 0 20 0 clawperator click --coordinate 540 700
expect '"dispatch_method":"gesture_tap"' '"effect":"unchanged"'
run 0 20 0 clawperator phone fault dropped_tap off

heading 'Record a person who sets the discharge limit of the battery to 25 %.'
run 0 20 0 clawperator close com.solaxcloud.starter
run 0 20 0 clawperator press home
run 0 20 0 clawperator recording start --session-id solar
expect '"sessionId":"solar"'
run 0 20 0 python3 person.py
run 0 20 0 clawperator read --text-contains 'Discharge to'
expect '"text":"Discharge to 25%"'
run 0 20 0 clawperator recording stop --session-id solar
expect '"eventCount":"23"'
run 0 20 0 clawperator recording pull
expect '"localPath":"recordings/solar.ndjson"'
run 0 4 2 cut -c 1-110 recordings/solar.ndjson
expect recording_header

heading 'parse: a short step log.'
run 0 20 0 clawperator recording parse --input recordings/solar.ndjson
expect '"stepCount":10' 'Discharge to 41%'

heading 'export: every event as one JSON document.'
run 0 20 0 clawperator recording export --input recordings/solar.ndjson
expect '"eventCount":23' '"sessionId":"solar"'
run 0 42 34 cat recordings/solar.export.json

heading 'compare: an agent did the same job, step by step.'
run 0 60 0 clawperator recording compare --baseline recordings/solar.export.json --result faithful.skills-run.json --output pretty
expect '"outcome": "semantic_match"'

heading 'compare: another run reached the same result by another path. The report shows where.'
run 0 60 0 clawperator recording compare --baseline recordings/solar.export.json --result other-way.skills-run.json --output pretty
expect '"outcome": "outcome_matches_path_differs"' '"actualCheckpoint": "device_page_opened"'

heading 'compare: this run claims success, but the limit on the screen is wrong. Not a match.'
run 1 6 0 clawperator recording compare --baseline recordings/solar.export.json --result wrong-end.skills-run.json --output pretty
expect '"outcome": "verification_failed"'

heading 'A truncated recording: export refuses it and points to repair.'
head -c $(($(wc -c <recordings/solar.ndjson) - 60)) recordings/solar.ndjson >cut.ndjson
run 1 20 0 clawperator recording export --input cut.ndjson --output pretty
expect RECORDING_PARSE_FAILED 'clawperator recording repair --input cut.ndjson'
[ ! -e cut.export.json ] || fail 'a refused export must not leave a file'
run 0 20 0 clawperator recording repair --input cut.ndjson
expect '"eventCount":22' '"droppedCount":1'
run 0 20 0 clawperator recording export --input cut.repaired.ndjson
expect '"eventCount":22'

heading 'Run a skill that sets another limit. It reports checkpoints and verifies the result.'
run 0 20 0 clawperator skills run com.solaxcloud.starter.set-discharge-limit --json -- --percent 30
expect '"status":"success"' '"id":"save_completed","status":"ok"' '"status":"verified"'
grep '^{' answer >skill.skills-run.json
run 0 20 0 clawperator read --text-contains 'Discharge to'
expect '"text":"Discharge to 30%"'

heading 'compare: did the skill do what the person showed?'
run 0 60 0 clawperator recording compare --baseline recordings/solar.export.json --result skill.skills-run.json --output pretty
expect '"outcome": "literal_match"' '"pathMatches": true'

heading 'claw, the agent shell: route a prompt, then run an instruction without a model.'
run 0 20 0 claw route 'read the Android version' --limit 3
expect com.android.settings.overview read_key_value_pair
run 0 60 0 claw bootstrap 'open settings and tell me the Android version' --session-id tour
expect 'Android version: 15.' 'stop_reason=completed outcome=done'

heading 'In JSON mode every outcome is one document: done, denied, not understood.'
run 0 20 0 claw exec-tool press_key '{"key": "home"}' --output-format json
expect '"handled": true' '"exit_code": 0' '"schema_version": "1.0"'
run 1 20 0 claw exec-tool press_key '{"key": "home"}' --permission-mode read-only --output-format json
expect '"kind": "policy"' '"handled": false'
run 1 20 0 claw turn-loop 'make me a sandwich' --output-format json
expect '"kind": "not_understood"' 'Nothing was done.'

heading 'The session keeps the turn and its evidence.'
run 0 20 0 claw load-session tour
expect '2 messages'
run 0 8 2 ls .claw/sessions/tour.evidence
expect snapshot.json

run 0 20 0 clawperator phone stop
expect '"wasRunning":true'

heading 'report: the recording with its screens, compared with the skill, as one HTML file.'
run 0 20 0 clawperator report recordings/solar.ndjson --compare skill.skills-run.json
expect '"outputFile":"recordings/solar.ndjson.report.html"' '"outcome":"literal_match"'

rm answer
printf '\n%sDemo passed. The files are in ./demo.%s\n' "$bold" "$plain"
printf 'Open the report in a browser: %s\n' "$PWD/recordings/solar.ndjson.report.html"

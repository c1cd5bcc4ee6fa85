#!/usr/bin/env bash
# The main job of Clawperator, on the phone in the box: check a plan and carry it out, record what a person does, read
# that demonstration, judge runs against it, and have things done from a sentence.
# It works in a fresh folder ./demo beside this file and stops at the first answer that is not as it should be.
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

# typed WORD...: a command as a person would type it.
typed() {
  local word
  for word in "$@"; do
    case $word in
      *' '*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
}

# run EXIT HEAD TAIL COMMAND...: run it, show its first and last lines, insist on its exit code.
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
  [ "$got" -eq "$want" ] || fail "the exit code should be $want, not $got"
}

# says TEXT...: the last answer holds each of these.
says() {
  local text
  for text in "$@"; do
    grep -qF -- "$text" answer || fail "the answer should hold: $text"
  done
}

# --- what is needed -------------------------------------------------------------------------------------

# A home of its own, and no adb server: the phone in the box is the only one there is, whatever else is connected.
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
"""A person with the phone in their hand: looks, and touches the glass."""

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

# skills_run FILE STATUS OBSERVED CHECKPOINT...: a saved run of an agent's skill, as compare reads it.
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

# --- the demonstration itself ---------------------------------------------------------------------------

printf '%sClawperator %s' "$bold" "$(clawperator --version)"
printf ': explicit plans in, typed evidence out.%s\n' "$plain"

heading 'A plan is checked before any phone sees it, and put into canonical words.'
run 0 60 0 clawperator exec plan.json --validate-only --output pretty
says '"validated": true' '"type": "snapshot_ui"' '"applicationId": "com.solaxcloud.starter"'

heading 'A plan with a slip is refused. The error is typed and says what to do.'
run 1 20 0 clawperator exec bad-plan.json --validate-only --output pretty
says EXECUTION_VALIDATION_FAILED 'uri is a parameter of open_uri'

heading 'A phone is in the box. It runs in the background, and any adb client can connect to it.'
run 0 40 0 clawperator phone start --output pretty
says '"serial": "claw-1"' '"connect": "adb connect 127.0.0.1:'
run 0 20 0 clawperator devices
says '{"serial":"claw-1","state":"device"}'

heading 'The plan is carried out: open, wait, look. Each step answers with evidence.'
run 0 39 5 clawperator exec plan.json --output pretty
says '"status": "success"' '"effect": "changed"' '"resolved_package": "com.solaxcloud.starter"' '<hierarchy'

heading 'One action, one command: find a page and read a value from it.'
run 0 20 0 clawperator open com.android.settings
run 0 20 0 clawperator scroll-and-click --text 'About phone'
run 0 20 0 clawperator read-value --label 'Android version'
says '"label":"Android version","value":"15"'

heading 'Phones fail, and this one on demand. A touch that was lost is told: it changed nothing.'
run 0 20 0 clawperator phone fault dropped_tap 1
run 0 20 0 clawperator click --coordinate 540 700
says '"dispatch_method":"gesture_tap"' '"effect":"unchanged"'
run 0 20 0 clawperator phone fault dropped_tap off

heading 'A person shows how it is done: the discharge limit of the battery becomes 25 %. It is recorded.'
run 0 20 0 clawperator close com.solaxcloud.starter
run 0 20 0 clawperator press home
run 0 20 0 clawperator recording start --session-id solar
says '"sessionId":"solar"'
run 0 20 0 python3 person.py
run 0 20 0 clawperator read --text-contains 'Discharge to'
says '"text":"Discharge to 25%"'
run 0 20 0 clawperator recording stop --session-id solar
says '"eventCount":"23"'
run 0 20 0 clawperator recording pull
says '"localPath":"recordings/solar.ndjson"'
run 0 4 2 cut -c 1-110 recordings/solar.ndjson
says recording_header

heading 'parse: a short log of the steps, for people.'
run 0 20 0 clawperator recording parse --input recordings/solar.ndjson
says '"stepCount":10' 'Discharge to 41%'

heading 'export: every event, as one document. It is the evidence for everything that follows.'
run 0 20 0 clawperator recording export --input recordings/solar.ndjson
says '"eventCount":23' '"sessionId":"solar"'
run 0 42 34 cat recordings/solar.export.json

heading 'compare: an agent did the same job, step by step as it was shown.'
run 0 60 0 clawperator recording compare --baseline recordings/solar.export.json --result faithful.skills-run.json --output pretty
says '"outcome": "semantic_match"'

heading 'compare: another run took its own way to the same end. That is fine, and the report says where.'
run 0 60 0 clawperator recording compare --baseline recordings/solar.export.json --result other-way.skills-run.json --output pretty
says '"outcome": "outcome_matches_path_differs"' '"actualCheckpoint": "device_page_opened"'

heading 'compare: this run claims success, but the limit on the screen is wrong. Not a match.'
run 1 6 0 clawperator recording compare --baseline recordings/solar.export.json --result wrong-end.skills-run.json --output pretty
says '"outcome": "verification_failed"'

heading 'The phone died while it wrote: the last event is cut in two. export refuses and points to repair.'
head -c $(($(wc -c <recordings/solar.ndjson) - 60)) recordings/solar.ndjson >cut.ndjson
run 1 20 0 clawperator recording export --input cut.ndjson --output pretty
says RECORDING_PARSE_FAILED 'clawperator recording repair --input cut.ndjson'
[ ! -e cut.export.json ] || fail 'a refused export should leave no file'
run 0 20 0 clawperator recording repair --input cut.ndjson
says '"eventCount":22' '"droppedCount":1'
run 0 20 0 clawperator recording export --input cut.repaired.ndjson
says '"eventCount":22'

heading 'A skill does the job by itself: another limit, checkpoint by checkpoint, and proof of the end.'
run 0 20 0 clawperator skills run com.solaxcloud.starter.set-discharge-limit --json -- --percent 30
says '"status":"success"' '"id":"save_completed","status":"ok"' '"status":"verified"'
grep '^{' answer >skill.skills-run.json
run 0 20 0 clawperator read --text-contains 'Discharge to'
says '"text":"Discharge to 30%"'

heading 'compare: did the skill do what the person showed? This is the verdict.'
run 0 60 0 clawperator recording compare --baseline recordings/solar.export.json --result skill.skills-run.json --output pretty
says '"outcome": "literal_match"' '"pathMatches": true'

heading 'claw, the shell for agents: what fits a sentence, and having it done with no model at all.'
run 0 20 0 claw route 'read the Android version' --limit 3
says com.android.settings.overview read_key_value_pair
run 0 60 0 claw bootstrap 'open settings and tell me the Android version' --session-id tour
says 'Android version: 15.' 'stop_reason=completed outcome=done'

heading 'For programs every outcome is one JSON document: done, denied, not understood.'
run 0 20 0 claw exec-tool press_key '{"key": "home"}' --output-format json
says '"handled": true' '"exit_code": 0' '"schema_version": "1.0"'
run 1 20 0 claw exec-tool press_key '{"key": "home"}' --permission-mode read-only --output-format json
says '"kind": "policy"' '"handled": false'
run 1 20 0 claw turn-loop 'make me a sandwich' --output-format json
says '"kind": "not_understood"' 'Nothing was done.'

heading 'The session has the turn, and the evidence that it caused.'
run 0 20 0 claw load-session tour
says '2 messages'
run 0 8 2 ls .claw/sessions/tour.evidence
says snapshot.json

run 0 20 0 clawperator phone stop
says '"wasRunning":true'

rm answer
printf '\n%sEverything answered as it should. The files are in ./demo.%s\n' "$bold" "$plain"

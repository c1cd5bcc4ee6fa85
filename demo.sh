#!/usr/bin/env bash
# The main job of Clawperator, on the phone in the box: start it, check a plan and carry it out, record what a person
# does, read such a demonstration, judge runs against it.
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

# run EXIT HEAD TAIL COMMAND...: run it, show its first and last lines, insist on its exit code.
run() {
  local want=$1 head=$2 tail=$3 got=0 lines
  shift 3
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  "$@" >answer 2>&1 || got=$?
  [ "$(tail -c 1 answer)" = '' ] || echo >>answer
  lines=$(wc -l <answer)
  if [ "$lines" -le $((head + tail + 1)) ]; then
    cut -c 1-220 answer
  else
    head -n "$head" answer | cut -c 1-220
    printf '%s... (%d more lines)%s\n' "$dim" $((lines - head - tail)) "$plain"
    tail -n "$tail" answer | cut -c 1-220
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

# --- what the demonstration saw -------------------------------------------------------------------------

# screen PACKAGE TEXT...: a small UI Automator hierarchy, as a JSON string without its quotes.
screen() {
  local package=$1 top=96 text
  shift
  printf '<hierarchy rotation=\\"0\\"><node index=\\"0\\" text=\\"\\" class=\\"android.widget.FrameLayout\\"'
  printf ' package=\\"%s\\" bounds=\\"[0,0][1080,2400]\\">' "$package"
  for text in "$@"; do
    printf '<node text=\\"%s\\" class=\\"android.widget.TextView\\" package=\\"%s\\"' "$text" "$package"
    printf ' clickable=\\"true\\" bounds=\\"[0,%d][1080,%d]\\" />' "$top" $((top + 144))
    top=$((top + 144))
  done
  printf '</node></hierarchy>'
}

app=com.solaxcloud.starter
launcher=com.android.launcher3
launcher_screen=$(screen $launcher Phone Camera SolaXCloud)
home_screen=$(screen $app 'Today 18.4 kWh' 'Battery 61%' Home Battery Account)
battery_screen=$(screen $app 'Charge from grid' 'Charge to' 'Discharge to' '10 %')
limit_screen=$(screen $app 'Discharge to' '10' Cancel Save)
done_screen=$(screen $app 'Charge from grid' 'Charge to' 'Discharge to' '25 %')

cat >solar.ndjson <<EOF
{"type":"recording_header","schemaVersion":1,"sessionId":"solar-discharge","startedAt":1781514000000,"operatorPackage":"com.clawperator.operator"}
{"ts":1781514002140,"seq":0,"type":"click","packageName":"$launcher","resourceId":null,"text":"SolaXCloud","contentDesc":"SolaXCloud","bounds":{"left":810,"top":1904,"right":1026,"bottom":2168},"snapshot":"$launcher_screen"}
{"ts":1781514003015,"seq":1,"type":"window_change","packageName":"$app","className":"$app.MainActivity","title":"SolaXCloud","snapshot":"$home_screen"}
{"ts":1781514006480,"seq":2,"type":"click","packageName":"$app","resourceId":"$app:id/tab_battery","text":"Battery","contentDesc":null,"bounds":{"left":432,"top":2256,"right":648,"bottom":2400},"snapshot":"$home_screen"}
{"ts":1781514006702,"seq":3,"type":"window_change","packageName":"$app","className":"$app.BatteryActivity","title":"Battery","snapshot":"$battery_screen"}
{"ts":1781514008911,"seq":4,"type":"scroll","packageName":"$app","resourceId":null,"scrollX":0,"scrollY":620,"maxScrollX":0,"maxScrollY":1480,"snapshot":null}
{"ts":1781514010256,"seq":5,"type":"click","packageName":"$app","resourceId":"$app:id/row_discharge_to","text":"Discharge to","contentDesc":null,"bounds":{"left":0,"top":384,"right":1080,"bottom":528},"snapshot":"$battery_screen"}
{"ts":1781514010540,"seq":6,"type":"window_change","packageName":"$app","className":"android.app.AlertDialog","title":"Discharge to","snapshot":"$limit_screen"}
{"ts":1781514012033,"seq":7,"type":"text_change","packageName":"$app","resourceId":null,"text":"","snapshot":null}
{"ts":1781514012498,"seq":8,"type":"text_change","packageName":"$app","resourceId":null,"text":"2","snapshot":null}
{"ts":1781514012731,"seq":9,"type":"text_change","packageName":"$app","resourceId":null,"text":"25","snapshot":null}
{"ts":1781514014190,"seq":10,"type":"click","packageName":"$app","resourceId":"android:id/button1","text":"Save","contentDesc":null,"bounds":{"left":540,"top":528,"right":1080,"bottom":672},"snapshot":"$limit_screen"}
{"ts":1781514014655,"seq":11,"type":"window_change","packageName":"$app","className":"$app.BatteryActivity","title":"Battery","snapshot":"$done_screen"}
EOF

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
      "expected": {"kind": "text", "text": "25 %"},
      "observed": {"kind": "text", "text": "$observed"}
    },
    "diagnostics": {"runtimeState": "healthy"},
    "source": {"kind": "agent", "agentCli": "agent"}
  }
}
EOF
}
skills_run faithful.skills-run.json verified '25 %' \
  app_opened discharge_to_row_focused target_text_entered save_completed terminal_state_verified
skills_run other-way.skills-run.json verified '25 %' \
  app_opened battery_widget_opened discharge_to_row_focused target_text_entered save_completed
skills_run wrong-end.skills-run.json failed '10 %' \
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
export CLAWPERATOR_HOME="$PWD/home"
trap 'clawperator phone stop --all >/dev/null' EXIT
run 0 40 0 clawperator phone start --output pretty
says '"serial": "claw-1"' '"connect": "adb connect 127.0.0.1:'
run 0 20 0 clawperator phone screenshot --path launcher.png
run 0 20 0 clawperator phone fault dropped_tap 0.5
run 0 20 0 clawperator phone stop
says '"wasRunning":true'

heading 'The same phone in a test of yours, by a clock that jumps: a person sets the limit, and it is recorded.'
cat >by_hand.py <<'END'
from clawperator.testing import start_phone

with start_phone() as phone:
    phone.start_recording("by-hand")
    person = phone.person
    person.tap("SolaXCloud")
    phone.wait(3)
    person.tap("Intelligence")
    person.tap("ON")
    phone.wait(1)
    person.tap(textContains="Device Discharging")
    person.tap(textContains="Discharge to")
    person.tap(role="textfield")
    person.delete(2)
    person.type("25")
    person.tap("Confirm")
    person.tap("Save")
    person.tap("Save", role="button")
    with open("by_hand.ndjson", "wb") as file:
        file.write(phone.stop_recording())

    # What the plan would do, carried out on the phone: did each step change anything?
    done = phone.run(
        {"type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {"type": "scroll_and_click", "params": {"matcher": {"textEquals": "About phone"}}},
        {"type": "read_key_value_pair", "params": {"labelMatcher": {"textEquals": "Android version"}}},
    )
    for step in done.stepResults:
        told = step.data.get("effect") or step.data.get("value")
        print(f"{step.actionType}: {told}")
END
run 0 20 0 python by_hand.py
says 'scroll_and_click: changed' 'read_key_value_pair: 15'
run 0 30 0 clawperator recording parse --input by_hand.ndjson
says 'Discharge to 41%' '"ok":true'

heading 'Another demonstration, of an older version of the app: set the discharge limit to 25 %. This is the recording.'
run 0 20 0 cut -c 1-110 solar.ndjson
says recording_header

heading 'parse: a short log of the steps, for people.'
run 0 20 0 clawperator recording parse --input solar.ndjson
says '"stepCount":5' 'scroll event dropped'
run 0 22 6 cat solar.steps.json

heading 'export: every event, as one document. It is the evidence for everything that follows.'
run 0 20 0 clawperator recording export --input solar.ndjson
says '"eventCount":12' '"packageTransitionCount":1'
run 0 42 26 cat solar.export.json

heading 'compare: an agent did the same job, step by step as it was shown.'
run 0 60 0 clawperator recording compare --baseline solar.export.json --result faithful.skills-run.json --output pretty
says '"outcome": "semantic_match"'

heading 'compare: another run took its own way to the same end. That is fine, and the report says where.'
run 0 60 0 clawperator recording compare --baseline solar.export.json --result other-way.skills-run.json --output pretty
says '"outcome": "outcome_matches_path_differs"' '"actualCheckpoint": "battery_widget_opened"'

heading 'compare: this run claims success, but the limit on the screen is wrong. Not a match.'
run 1 6 0 clawperator recording compare --baseline solar.export.json --result wrong-end.skills-run.json --output pretty
says '"outcome": "verification_failed"'

heading 'The phone died while it wrote: the last event is cut in two. export refuses and points to repair.'
head -c $(($(wc -c <solar.ndjson) - 60)) solar.ndjson >cut.ndjson
run 1 20 0 clawperator recording export --input cut.ndjson --output pretty
says RECORDING_PARSE_FAILED 'clawperator recording repair --input cut.ndjson'
[ ! -e cut.export.json ] || fail 'a refused export should leave no file'
run 0 20 0 clawperator recording repair --input cut.ndjson
says '"eventCount":11' '"droppedCount":1'
run 0 20 0 clawperator recording export --input cut.repaired.ndjson
says '"eventCount":11'

rm answer
printf '\n%sEverything answered as it should. The files are in ./demo.%s\n' "$bold" "$plain"

"""Run this skill's agent with SKILL.md and the inputs on its standard input."""

import os
import subprocess
import sys

path = os.environ["CLAWPERATOR_SKILL_AGENT_CLI_PATH"]
seconds = int(os.environ["CLAWPERATOR_SKILL_AGENT_TIMEOUT_MS"]) / 1000
with open(os.environ["CLAWPERATOR_SKILL_PROGRAM"], encoding="utf-8") as page:
    task = f"{page.read()}\nThe inputs are {os.environ['CLAWPERATOR_SKILL_INPUTS']}.\n"

command = [sys.executable, path] if path.endswith(".py") else [path]
ran = subprocess.run(command, input=task.encode(), timeout=seconds, check=False)  # noqa: S603 - the skill's agent
raise SystemExit(ran.returncode)

"""An agent loop: show the screen to a model, do what it answers, show what changed.

    python examples/agent_loop.py

The model here is a function with fixed answers; a real one gets the outline and answers with a reference. A
reference of an earlier screen is refused, so that the model can be told.
"""

import clawperator


def choose(outline: str, goal: str) -> str | None:
    """Stands for a model: the reference of the line that shows the goal, or None."""
    line = next((line for line in outline.splitlines() if f'"{goal}"' in line), None)
    return None if line is None else line.split()[0]


def main() -> None:
    with clawperator.start_phone("agent-loop") as running:
        phone = clawperator.connect(running.serial)
        phone.open_app("com.android.settings")
        first = ""
        for goal in ("Display", "Dark theme"):
            outline = str(phone.read_outline())
            ref = choose(outline, goal)
            if ref is None:
                print(f"{goal} is not on the screen")
                continue
            first = first or ref
            print(f"{goal}: click {ref}, {phone.click(ref=ref).effect}")
        try:
            phone.click(ref=first)
        except clawperator.TargetError as error:
            print(f"the first reference again: {error.code}")


if __name__ == "__main__":
    main()

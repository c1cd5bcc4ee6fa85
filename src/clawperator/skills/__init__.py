"""Skills: scripts that do one job on a phone and say, checkpoint by checkpoint, what came of it."""

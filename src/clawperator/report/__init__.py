"""Reports: one HTML file about a recording, a run, a replay, kept evidence or a failed test."""

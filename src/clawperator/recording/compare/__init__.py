"""Compare a run with a demonstration."""

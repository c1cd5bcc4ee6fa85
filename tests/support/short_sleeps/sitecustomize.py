"""With this folder in PYTHONPATH, simulated phones that are started run on the clock with short sleeps."""

import sys

if "clawperator.phone.process.main" in sys.orig_argv:
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from tests.support.fast_clock import SkippingClock

    sys.path.pop(0)
    from clawperator.phone.process import server

    vars(server)["SystemClock"] = SkippingClock

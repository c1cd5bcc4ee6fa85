"""Where the tests find their files.

Real captures are not part of the project. ``CLAWPERATOR_TEST_DATA`` names a folder with ``dumps/`` and ``exports/``;
the default is ``shared/data`` beside the checkout. Tests that need a capture skip where there is none.
"""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests" / "fixtures"
GOLDEN = FIXTURES / "json"
TEXT_GOLDEN = FIXTURES / "text"
CAPTURES = Path(os.environ.get("CLAWPERATOR_TEST_DATA") or REPOSITORY.parent / "shared" / "data")

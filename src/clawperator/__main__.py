"""``python -m clawperator``."""

import sys

from clawperator.cli import main

sys.exit(main())

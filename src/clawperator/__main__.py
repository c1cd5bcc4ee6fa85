"""``python -m clawperator``."""

import sys

from clawperator.cli.main import main

sys.exit(main())

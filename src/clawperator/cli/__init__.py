"""The console commands ``clawperator`` and ``claw``: parse argv, call one handler, print one document, exit."""

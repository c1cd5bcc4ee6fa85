"""Text output for people: ``--output text``. Imported only in text mode, so that JSON pays nothing for it."""

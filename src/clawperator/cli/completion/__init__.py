"""Completion scripts for shells, generated from the command registry.

A script is static: no process is started per key, except to list the serials of devices. It completes
``clawperator`` and ``claw``. Synonyms and aliases are understood, but not offered.
"""

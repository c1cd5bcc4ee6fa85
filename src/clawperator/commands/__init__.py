"""The command registry: one row per command, from which parsing, help, schemas and docs derive."""

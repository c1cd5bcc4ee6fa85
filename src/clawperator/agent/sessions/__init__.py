"""Session files: records, evidence, locks, reading and writing."""

"""Evidence: what a person did on a phone, read from disk, exported, summarised, compared and repaired."""

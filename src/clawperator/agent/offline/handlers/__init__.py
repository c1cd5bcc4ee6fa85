"""What the offline brain does for each kind of instruction."""

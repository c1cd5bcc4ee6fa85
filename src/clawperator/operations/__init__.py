"""What the product can do: one row per operation, and the one way to call it."""

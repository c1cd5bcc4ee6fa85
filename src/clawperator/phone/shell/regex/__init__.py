"""Regular expressions for grep, sed and logcat that no pattern can hang."""

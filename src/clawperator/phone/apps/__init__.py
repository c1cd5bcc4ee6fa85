"""The built-in apps, written with the same toolkit as users' own apps."""

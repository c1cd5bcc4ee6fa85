"""The web page: its files, the live screens that it shows, and what it does on devices."""

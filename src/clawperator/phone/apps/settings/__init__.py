"""The Settings app: the home page, pages from a table, and pages with code of their own."""

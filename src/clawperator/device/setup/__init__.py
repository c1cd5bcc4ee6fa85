"""Getting a device ready: doctor checks, Operator installation, permissions."""

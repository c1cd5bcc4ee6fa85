"""The Operator app inside the simulated phone: broadcast in, log lines out, recorder."""

"""Finding phones and talking to them: adb's protocol, the Operator, leases, checks."""

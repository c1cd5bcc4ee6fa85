"""Client side of adb: protocol, quoting, file transfer, input, dumpsys parsing."""

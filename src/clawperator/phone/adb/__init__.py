"""The two doors of the phone: the transport protocol of adbd, and the protocol of the adb server."""

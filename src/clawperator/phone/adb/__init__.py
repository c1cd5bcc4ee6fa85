"""The phone's adb endpoints: the transport protocol of adbd, and the protocol of the adb server."""

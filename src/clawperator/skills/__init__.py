"""Skills: scripts that do one job on a device and report checkpoints and a verified result."""

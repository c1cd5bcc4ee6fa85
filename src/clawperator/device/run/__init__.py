"""Run a plan on a device: lease, references, evidence, secrets, host log."""

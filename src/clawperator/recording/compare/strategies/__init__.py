"""Strategies for the checkpoints of a baseline: declared, derived, or the SolaX flow."""

"""Where a baseline's checkpoints come from: declared, derived, or the SolaX flow."""

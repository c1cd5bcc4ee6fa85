"""The offline brain: English instructions by fixed rules, without a model."""

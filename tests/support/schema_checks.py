"""Validate documents against the product's own JSON Schemas."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from clawperator.schemas import schema


def assert_fits_schema(name: str, document: Any) -> None:
    """``jsonschema.ValidationError`` when the document does not fit the schema of this name."""
    _validator(name).validate(document)


@cache
def _validator(name: str) -> Draft202012Validator:
    # Made once: it takes longer to check a schema than to validate a document.
    made = schema(name)
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)

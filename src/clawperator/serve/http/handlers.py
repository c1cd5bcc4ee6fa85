"""Work of the routes of schemas."""

from clawperator import schemas
from clawperator.serve.http.calls import HttpCall
from clawperator.serve.http.documents import (
    NoFields,
    OneSchema,
    SchemaList,
    SchemaName,
    SchemaRequest,
)


def get_schemas(_: NoFields, __: HttpCall) -> SchemaList:
    return SchemaList([SchemaName(row["name"], row["description"]) for row in schemas.list_schemas()])


def get_schema(request: SchemaRequest, _: HttpCall) -> OneSchema:
    return OneSchema(schemas.schema(request.name))

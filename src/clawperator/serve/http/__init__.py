"""The HTTP server: routes over the same layers as the command line, events by SSE, an OpenAPI description."""

"""The POSIX shell language: parser, expansion, interpreter."""

"""The simulated phone's shell: the POSIX shell language, toybox commands and Android commands."""

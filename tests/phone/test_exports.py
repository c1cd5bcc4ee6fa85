"""The phone package exports its interface, and loads nothing until a name is used."""

import subprocess
import sys

from clawperator import phone


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(phone, "Telephone")


def test_importing_the_package_loads_no_module_of_it() -> None:
    script = (
        "import clawperator.phone, sys; print(*(n for n in sys.modules if n.startswith('clawperator.phone.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""

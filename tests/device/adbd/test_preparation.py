"""Preparing adbd: with stand-ins for apt, and what is reported where it cannot be had."""

from pathlib import Path

import pytest

from tests.support import adbd_packages, real_adbd
from tests.support.adbd_packages import PreparationError, prepare
from tests.support.real_adbd import AdbdUnavailableError, RealAdbd

# A mirror of a machine whose own suite has no adbd. An archive is named as its package.
APT = """#!/bin/sh
case "$*" in
*indextargets*) echo "oldest file:/mirror/ main"; echo "oldest file:/mirror/ extra" ;;
*update*) for word in "$@"; do case "$word" in Dir::Etc::SourceList=*) cat "${word#*=}" >>"$SOURCES" ;; esac; done ;;
*oldest*) echo "E: Unable to locate package adbd" >&2; exit 100 ;;
*) for word in "$@"; do case "$word" in Dir::Cache=*) touch "${word#*=}/archives/adbd_34-1_amd64.deb" ;; esac; done ;;
esac
"""
UNPACK = '#!/bin/sh\nmkdir -p "$3/usr/bin" && echo adbd >"$3/usr/bin/adbd"\n'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, script in (("apt-get", APT), ("dpkg-deb", UNPACK)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("SOURCES", str(tmp_path / "sources"))
    return folder


@pytest.mark.usefixtures("programs")
def test_the_first_suite_with_the_packages_is_taken(tmp_path: Path) -> None:
    root = tmp_path / "cache/adbd"
    prepare(root)
    sources = (tmp_path / "sources").read_text().splitlines()
    assert [line.split()[-4:] for line in sources] == [
        ["file:/mirror/", "oldest", "main", "extra"],
        ["file:/mirror/", "trixie", "main", "extra"],
    ]
    assert (root / "packages").read_text() == "adbd_34-1\n"
    assert (root / "usr/bin/sh").readlink() == Path("mksh")
    assert (root / "usr/bin/cat").readlink() == Path("toybox")
    assert list(root.parent.iterdir()) == [root]


def test_it_is_prepared_once(programs: Path, tmp_path: Path) -> None:
    prepare(tmp_path / "adbd")
    (programs / "apt-get").unlink()
    (programs / "dpkg-deb").unlink()
    prepare(tmp_path / "adbd")


def test_a_mirror_without_adbd_leaves_nothing(programs: Path, tmp_path: Path) -> None:
    (programs / "apt-get").write_text(APT.replace("*oldest*)", "*install*)"))
    with pytest.raises(PreparationError, match=r"oldest: E: Unable to locate.*; sid: E: Unable"):
        prepare(tmp_path / "cache/adbd")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_machine_without_apt_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(adbd_packages, "ADBD_ROOT", tmp_path / "adbd")
    assert adbd_packages.main() == 1
    assert capsys.readouterr().err == "no adbd for the tests: no apt-get on this machine\n"


def test_without_preparation_the_reason_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_adbd, "ADBD_ROOT", tmp_path / "nowhere")
    with pytest.raises(AdbdUnavailableError, match="make adbd"):
        RealAdbd(tmp_path).start()


def test_a_machine_without_namespaces_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_adbd, "ADBD_ROOT", tmp_path)
    program = tmp_path / "unshare"
    program.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(AdbdUnavailableError, match="Operation not permitted"):
        RealAdbd(tmp_path).start()
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AdbdUnavailableError, match="no unshare on this machine"):
        RealAdbd(tmp_path).start()

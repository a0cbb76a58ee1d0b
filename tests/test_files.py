"""Laws of `whymatch.files`: whole or not at all, and never outside the folder."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whymatch.files import check_new, held, inside, whole_file, whole_folder, write_whole


def test_a_file_is_replaced_only_when_all_of_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_whole(file, "before")

    def fill_the_disk() -> None:
        with whole_file(file) as draft:
            draft.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match=r"page\.html") as caught:
        fill_the_disk()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(file)
    assert file.read_text() == "before"
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_device_is_written_directly_and_its_errors_name_it() -> None:
    with pytest.raises(OSError, match="/dev/full"):
        write_whole("/dev/full", "x" * 10**6)


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "text", "a\r\nb\n\u00e9")
    write_whole(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == "a\r\nb\n\u00e9".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"


def test_a_link_stays_a_link_and_permissions_stay_as_they_were(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    def crash() -> None:
        with whole_folder(folder) as draft:
            (draft / "train.jsonl").write_text("{}")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        crash()
    assert not [*tmp_path.iterdir()]
    with whole_folder(folder) as draft:
        (draft / "train.jsonl").write_text("{}")
    assert [file.name for file in folder.iterdir()] == ["train.jsonl"]
    with pytest.raises(ValueError, match="is there already"), whole_folder(folder):
        pass
    with whole_folder(folder, replace=True) as draft:
        (draft / "val.jsonl").write_text("{}")
    assert [file.name for file in folder.iterdir()] == ["val.jsonl"]


@pytest.mark.parametrize(
    "name", ["../secret", "a/../../secret", "/etc/passwd", "out", "out/secret", "loop", "a\0b", "."]
)
def test_names_from_data_do_not_leave_their_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "out").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    if name == ".":
        assert inside(folder, name) == folder.resolve()
        return
    with pytest.raises((ValueError, OSError)):
        inside(folder, name).read_text()


def test_names_inside_the_folder_are_found_through_links_that_stay_there(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "text").write_text("here")
    (folder / "link").symlink_to(folder / "a")
    (tmp_path / "elsewhere").symlink_to(folder)
    assert inside(folder, "link/text").read_text() == "here"
    assert inside(tmp_path / "elsewhere", "a/../a/text").read_text() == "here"


def test_a_folder_that_another_process_writes_to_is_refused_and_free_again_when_it_dies(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from whymatch.files import held\n"
    program += "with held(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(ValueError, match=rf"Process {other.pid} on .* is writing to"), held(tmp_path):
            pass
        other.kill()
    with held(tmp_path), pytest.raises(ValueError, match=f"Process {os.getpid()} "), held(tmp_path):
        pass
    check_new(tmp_path)


def test_a_link_is_followed_or_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    write_whole(link, "followed")
    assert target.read_text() == "followed"
    write_whole(link, "replaced", follow=False)
    assert target.read_text() == "followed"
    assert not link.is_symlink()
    assert link.read_text() == "replaced"

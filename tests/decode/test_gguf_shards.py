"""Checkpoints in several files: followed from the first shard or the folder, or refused with what is missing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from gguf_bytes import F32, gguf, tensor, value

from tinker_nomics.decode import GgufError, HeaderSource, read_header


def shard_bytes(number: int, count: int, total: int | None, names: list[str]) -> bytes:
    """Shard `number` of `count` (from 0) with small tensors; only the first has more metadata."""
    values = (
        [value("general.architecture", "str", "llama"), value("llama.block_count", "u32", 2)] if number == 0 else []
    )
    values += [value("split.no", "u16", number), value("split.count", "u16", count)]
    if total is not None:
        values.append(value("split.tensors.count", "i32", total))
    return gguf(values, [tensor(name, [8], F32, 32 * index) for index, name in enumerate(names)])


def write(folder: Path, shards: list[list[str]], total: int | None = None, stem: str = "model") -> list[Path]:
    """Write a checkpoint as these shards."""
    total = sum(map(len, shards)) if total is None else total
    paths = []
    for number, names in enumerate(shards):
        path = folder / f"{stem}-{number + 1:05d}-of-{len(shards):05d}.gguf"
        path.write_bytes(shard_bytes(number, len(shards), total, names))
        paths.append(path)
    return paths


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return write(tmp_path, [[], ["a", "b"], ["c"]])


def test_followed_from_the_first_shard_the_folder_or_an_open_file(three: list[Path]):
    with three[0].open("rb") as file:
        headers = [read_header(three[0]), read_header(str(three[0])), read_header(three[0].parent), read_header(file)]
    for header in headers:
        assert [(row.name, row.shard, row.offset) for row in header.tensors] == [("a", 1, 0), ("b", 1, 32), ("c", 2, 0)]
        assert header.arch("block_count") == 2
        assert (header.parameters, header.weight_bytes) == (24, 96)
        assert [shard.name for shard in header.shards] == [path.name for path in three]
        assert [shard.tensors for shard in header.shards] == [0, 2, 1]
    assert headers[0].missing_data_bytes == 96


def test_other_files_in_the_folder_do_not_matter(three: list[Path]):
    (three[0].parent / "README.md").write_text("a model")
    (three[0].parent / "folder.gguf").mkdir()
    assert len(read_header(three[0].parent).tensors) == 3


@pytest.mark.parametrize("lost", [1, 2])
def test_a_missing_shard_is_named(three: list[Path], lost: int):
    three[lost].unlink()
    for source in (three[0], three[0].parent):
        with pytest.raises(GgufError, match=f"1 of 3 shards are missing: model-0000{lost + 1}-of-00003.gguf"):
            read_header(source)


def test_all_missing_shards_are_named(three: list[Path]):
    three[1].unlink()
    three[2].unlink()
    with pytest.raises(GgufError, match=r"2 of 3 .* model-00002-of-00003.gguf, model-00003-of-00003.gguf"):
        read_header(three[0])


def test_many_missing_shards_are_counted(tmp_path: Path):
    path = tmp_path / "model-00001-of-00400.gguf"
    path.write_bytes(shard_bytes(0, 400, 500, []))
    with pytest.raises(GgufError, match=r"399 of 400 shards are missing: .*00011-of-00400.gguf and 389 more"):
        read_header(path)


def test_the_first_shard_missing_from_the_folder_is_named(three: list[Path]):
    three[0].unlink()
    with pytest.raises(GgufError, match=r"lacks the first shard, model-00001-of-00003.gguf"):
        read_header(three[0].parent)


def test_a_later_shard_is_refused_and_the_first_is_named(three: list[Path]):
    with pytest.raises(GgufError, match=r"shard 2 of 3; allowed: the first shard, model-00001-of-00003.gguf"):
        read_header(three[1])


def test_bytes_of_one_shard_are_refused(three: list[Path]):
    for source in (three[0].read_bytes(), io.BytesIO(three[0].read_bytes())):
        with pytest.raises(GgufError, match=r"shards 2 to 3 are missing.*allowed: the path of the first shard"):
            read_header(source)


def test_a_renamed_first_shard_is_refused(three: list[Path]):
    renamed = three[0].rename(three[0].with_name("renamed.gguf"))
    with pytest.raises(GgufError, match=r"shards 2 to 3 are missing: its name does not tell.*NAME-00001-of-00003.gguf"):
        read_header(renamed)


def test_shards_that_do_not_belong_together_are_refused(three: list[Path]):
    for content, text in (
        (shard_bytes(2, 3, 3, ["c"]), "split.no is 2; allowed: 1"),
        (shard_bytes(1, 4, 3, ["c"]), "split.count is 4; allowed: 3"),
        (shard_bytes(1, 3, 3, ["c", "d"]), "the tensor 'c' stands in shards 2 and 3"),
        (shard_bytes(1, 3, 3, ["a", "b", "d"]), "the 3 shards hold 4 tensors, but split.tensors.count is 3"),
        (gguf(), "split.count is None; allowed: 3"),
        (b"GGUF", "model-00002-of-00003.gguf, at byte 4"),
    ):
        three[1].write_bytes(content)
        with pytest.raises(GgufError, match=text):
            read_header(three[0])


def test_split_values_of_other_types_are_refused(tmp_path: Path):
    path = tmp_path / "model-00001-of-00002.gguf"
    path.write_bytes(gguf([value("split.count", "str", "2")]))
    with pytest.raises(GgufError, match=r"split.count is of type str; allowed: a whole number"):
        read_header(path)
    path.write_bytes(gguf([value("split.count", "u32", 2**32 - 1)]))
    with pytest.raises(GgufError, match=r"split.count is 4294967295; allowed: up to 65535"):
        read_header(path)


def test_without_a_count_of_tensors_the_shards_are_joined_as_they_are(tmp_path: Path):
    for number, names in enumerate((["a"], ["b"])):
        (tmp_path / f"m-{number + 1:05d}-of-00002.gguf").write_bytes(shard_bytes(number, 2, None, names))
    header = read_header(tmp_path)
    assert [row.name for row in header.tensors] == ["a", "b"]
    assert header.get("split.tensors.count") == 2


def test_a_folder_of_one_file_or_of_several_checkpoints(tmp_path: Path, three: list[Path]):
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(GgufError, match="holds no GGUF file"):
        read_header(alone)
    (alone / "model.gguf").write_bytes(gguf([], [tensor("a", [8], F32, 0)]))
    assert len(read_header(alone).tensors) == 1
    (three[0].parent / "projector.gguf").write_bytes(gguf())
    with pytest.raises(GgufError, match=r"holds 2 checkpoints: model-00001-of-00003.gguf, projector.gguf"):
        read_header(three[0].parent)


def test_a_joined_checkpoint_goes_through_ledger_and_gguf(three: list[Path], tmp_path: Path):
    header = read_header(three[0])
    assert HeaderSource.from_ledger(header.to_ledger()) == header
    whole = header.to_gguf(tmp_path / "whole.gguf")  # says split.count = 3, and holds all of its tensors
    assert read_header(whole) == header
    assert read_header(whole.read_bytes()) == header

"""The measurements of a GPU run on a CPU with a tiny model."""

import pytest

from benchmarks.one_device import main

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_table_has_updates_and_sampling(capsys, dtype):
    main(["--model", "tiny", "--dtype", dtype, "--tokens", "256"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| model | arithmetic | what | tokens/s | TFLOP/s | GB |"
    assert [row.split(" | ")[2] for row in rows] == [
        "update of a policy, 256 tokens",
        "update of a critic, 256 tokens",
        "sampling, 8 conversations",
    ]
    for row in rows:
        assert float(row.split("|")[4].replace(",", "")) > 0

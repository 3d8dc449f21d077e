"""Commands on a real Ray: what they print, how they end, and that none outlives its study."""

import re
import socket
import threading

import pytest
import ray
from ray.cluster_utils import Cluster

from ragen_bench.errors import INTERRUPTED, UserError
from ragen_starpo.commands import Stage
from ragen_starpo.studies.on_ray import RayCommands, join_cluster
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verl")]
STUDIES = Stage("list", "ragen-train", ("studies",))
UNKNOWN = Stage("list", "ragen-train", ("studeis",))


@pytest.fixture(scope="module")
def address():
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    try:
        with join_cluster(cluster.address):
            yield cluster.address
    finally:
        cluster.shutdown()


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.usefixtures("address")
def test_commands_run_in_their_folder_and_are_stopped_with_the_study(tmp_path):
    commands = RayCommands(gpus=0)
    done = []
    commands.run(tmp_path / "a", [STUDIES], {}, lambda stage, seconds: done.append(seconds))
    assert "filter" in (tmp_path / "a/log.txt").read_text()
    assert done[0] is None
    assert done[1] > 0
    with pytest.raises(UserError, match=r"`ragen-train studeis` failed: .*studeis"):
        commands.run(tmp_path / "b", [UNKNOWN], {}, lambda stage, seconds: None)

    elsewhere = RayCommands(gpus=0)
    elsewhere._task = ray.remote(lambda *_: (-1, "10.0.0.9"))
    with pytest.raises(
        UserError, match=r"10\.0\.0\.9 does not have .*must share the study's folder"
    ):
        elsewhere.run(tmp_path / "e", [STUDIES], {}, lambda stage, seconds: None)

    folder = tmp_path / "c"
    view = Stage("view", "ragen-bench", ("view", ".", "--port", "0"))
    ended = []

    def serve():
        try:
            commands.run(folder, [view], {}, lambda stage, seconds: None)
        except UserError as error:
            ended.append(error.exit_code)

    thread = threading.Thread(target=serve)
    thread.start()
    wait_until(lambda: (folder / "log.txt").exists() and "http" in (folder / "log.txt").read_text())
    commands.stop()
    thread.join()
    assert ended == [INTERRUPTED]
    port = int(re.search(r"http://[^:]+:(\d+)", (folder / "log.txt").read_text())[1])
    wait_until(lambda: not answers(port))
    with pytest.raises(UserError, match="was interrupted"):
        commands.run(tmp_path / "d", [STUDIES], {}, lambda stage, seconds: None)


def test_nobody_at_the_address_is_one_line():
    with (
        pytest.raises(UserError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"),
        join_cluster("127.0.0.1:9"),
    ):
        pass

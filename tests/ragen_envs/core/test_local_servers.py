"""Which requests a server of this machine answers, by their Host and Origin."""

import pytest

from ragen_envs.core.local_servers import LOOPBACK, find_refusal, is_secret, new_secret

OWN = "127.0.0.1:8000"


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:80", "[::1]", "[::1]:8"])
def test_names_of_this_machine(host):
    assert find_refusal([host], []) is None
    assert find_refusal([host], [f"http://{host.lower()}"]) is None


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["rebound.example"],
        ["127.0.0.1.rebound.example"],
        ["127.0.0.1@rebound.example"],
        ["127.0.0.1:80:80"],
        ["localhost."],
        ["localhost\n"],
        ["0.0.0.0"],
        ["localhost", "localhost"],
    ],
)
def test_other_hosts(hosts):
    assert find_refusal(hosts, []) == "host"
    assert find_refusal(hosts, [], hosts=(*LOOPBACK, "*")) is None


@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        [""],
        ["https://rebound.example"],
        ["http://127.0.0.1:8001"],
        ["file://127.0.0.1:8000"],
        ["http://["],
        [f"http://{OWN}", f"http://{OWN}"],
    ],
)
def test_other_origins(origins):
    assert find_refusal([OWN], origins) == "origin"
    assert find_refusal([OWN], origins, origins=("*",)) is None


def test_names_that_are_allowed():
    hosts = ("*.example.org",)
    assert find_refusal(["a.example.org:443"], [], hosts=hosts) is None
    assert find_refusal(["example.org"], [], hosts=hosts) == "host"
    assert find_refusal(["aexample.org"], [], hosts=hosts) == "host"
    assert find_refusal([OWN], ["https://a.org"], origins=("https://a.org",)) is None


def test_secrets():
    secret = new_secret()
    assert secret != new_secret()
    assert len(secret) == 22
    assert is_secret(secret, secret)
    assert not any(is_secret(other, secret) for other in ("", secret[:-1], f"{secret}x", "ü\ud800"))

"""The progress line in a notebook: a real kernel, and what it sends to the page."""

import pytest
from jupyter_client.manager import start_new_kernel

pytestmark = pytest.mark.extra

CELL = """
import fiducial as fd
problem = fd.problem("poisson", n_f=30).replace(network=fd.MLP((8,)))
result = fd.fit(problem, fd.PINN(adam_steps=20, lm_steps=3), seed=0)
"""


@pytest.fixture(scope="module")
def messages() -> list[dict]:
    """All that the page was sent while the cell ran."""
    sent: list[dict] = []
    manager, client = start_new_kernel()
    try:
        client.execute_interactive(CELL, timeout=300, output_hook=sent.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return sent


def test_one_line_says_what_is_being_done_and_is_gone_at_the_end(messages):
    assert not [m["content"] for m in messages if m["msg_type"] == "error"]
    lines = [
        m["content"]["data"]["text/plain"]
        for m in messages
        if m["msg_type"] in ("display_data", "update_display_data")
    ]
    assert [m["msg_type"] for m in messages].count("display_data") == 1
    assert lines[0].startswith("preparing")
    assert any(line.startswith("compiling") and line.endswith("so far") for line in lines)
    assert lines[-1] == ""


def test_nothing_else_is_printed(messages):
    assert not [m["content"]["text"] for m in messages if m["msg_type"] == "stream"]

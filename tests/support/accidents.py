"""Accidents of a running driver: the disk is full, another driver takes over, clocks jump, a connection is cut.

Each accident is let happen to a site, and gives back what is wrong with how the driver took it; None if nothing is.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from random import Random

import psutil

from hydrograph.live.failpoints import POINTS
from tests.support.kill_harness import Site

_PATIENCE = 60.0

_CLOCK = '''
import os, random, time
_draw, _real, _ahead, _note = random.Random(int(os.environ["CLOCK_SEED"])), time.time, 0.0, os.environ["CLOCK_NOTE"]
_far = (-86_400.0, -3_600.0, 0.0, 3_600.0, 86_400.0, 2.0**31, 2.0**33)
def _jumping():
    """Return the time of a clock that is set while it runs: by hours, days, and beyond 2038 and 2262."""
    global _ahead
    if _draw.random() < 0.5:  # a driver that runs for some seconds asks a few times only
        _ahead = _draw.choice([each for each in _far if each != _ahead])
        with open(_note, "a") as note:
            note.write(f"{_ahead}\\n")
    return _real() + _ahead
time.time = _jumping
time.time_ns = lambda: int(_jumping() * 1e9)
'''


def disk_full(site: Site, seed: int) -> str | None:
    """Put checkpoint and results on a disk that fills up: the driver waits, reports it, and continues by itself.

    The disk is one of memory in a name space of its own, which needs no rights on most systems; where it does, the
    size of files is limited instead, which does not pass: the driver stops, and a later one continues.
    """
    site.give(3)
    giver = threading.Thread(target=_give_slowly, args=(site,))
    giver.start()
    try:
        return _on_a_small_disk(site, seed) if _own_mounts() else _files_too_large(site, seed)
    finally:
        giver.join()


def _on_a_small_disk(site: Site, seed: int) -> str | None:
    kilobytes = 40 + 8 * (seed % 4)
    script = f"""
    mkdir disk && mount -t tmpfs -o size={kilobytes}k tmpfs disk && mkdir disk/checkpoint disk/results || exit 99
    ln -s disk/checkpoint checkpoint && ln -s disk/results results
    "$@" 2> said & driver=$!
    tries=0
    until grep -q "paused: .*No space left" said || [ $tries -ge {int(_PATIENCE)} ]; do
        sleep 1; tries=$((tries + 1)); kill -0 $driver 2> gone || break
    done
    cp said said.full
    mount -o remount,size=64m disk || exit 99
    wait $driver; echo $? > code
    rm results checkpoint && cp -r disk/results results
    """
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *site.command()]
    ran = subprocess.run(command, cwd=site.root, capture_output=True, text=True, timeout=4 * _PATIENCE, check=False)
    if ran.returncode:
        return f"the disk could not be made: {ran.stderr}"
    before, said = ((site.root / name).read_text() for name in ("said.full", "said"))
    if "paused: " not in before or "No space left" not in before or "space again" in before:
        return f"expected a driver that waits for disk space, got: {before}"
    code = int((site.root / "code").read_text())
    return None if code == 0 and "there is space again" in said else f"with space again: exit {code}: {said}"


def _own_mounts() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _files_too_large(site: Site, seed: int) -> str | None:
    most = 1500 + 400 * (seed % 4)
    command = site.command()
    first = subprocess.run(
        command,
        cwd=site.root,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    second = site.run()
    if first.returncode <= 0 or "File too large" not in first.stderr:
        return f"expected an end with the words 'File too large', got exit {first.returncode}: {first.stderr}"
    return f"with space again: exit {second.returncode}: {second.stderr}" if second.returncode else None


def two_drivers(site: Site, seed: int) -> str | None:
    """Let a driver fall asleep in the middle of a batch, another one take over, and the first one wake up."""
    point = POINTS[seed % len(POINTS)]
    site.give(3)
    with site.driver(f"{point}:2:asleep", "--placement", "local") as first:
        giving = time.monotonic() + _PATIENCE
        while psutil.Process(first.pid).status() != psutil.STATUS_STOPPED:
            if time.monotonic() > giving or first.poll() is not None:
                first.kill()
                return f"the first driver did not get to {point} a second time: {first.communicate()[1]}"
            time.sleep(0.3)
            if site.begun and site.given < site.files - 1:
                site.give(1)
        site.give(site.files)
        second = site.run()
        first.send_signal(signal.SIGCONT)
        _, err = first.communicate(timeout=_PATIENCE)
    if second.returncode:
        return f"the second driver failed: {second.stderr}"
    if first.returncode <= 0 or not any(words in err for words in ("has taken over", "it was changed outside")):
        return f"asleep at {point}: expected the first driver to be fenced, got exit {first.returncode}: {err}"
    return None


def clock_jumps(site: Site, seed: int) -> str | None:
    """Let the clock of the machine jump while the driver runs, by hours and centuries."""
    clock = site.root / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(_CLOCK)
    site.give(3)
    giver = threading.Thread(target=_give_slowly, args=(site,))
    giver.start()
    path = os.pathsep.join([str(clock), *filter(None, [os.environ.get("PYTHONPATH")])])
    note = clock / "jumps"
    jumping = {"PYTHONPATH": path, "CLOCK_SEED": str(seed), "CLOCK_NOTE": str(note)}
    ran = site.run(None, "--placement", "local", "--idle", "30", first=jumping)
    giver.join()
    jumps = len(set(note.read_text().split())) if note.exists() else 0
    if jumps < 2:
        return f"the clock was to jump to and fro, but stood at {jumps} distances from the real one"
    return f"exit {ran.returncode}: {ran.stderr}" if ran.returncode else None


def _give_slowly(site: Site) -> None:
    """Let files appear one by one, so that there are as many batches once a driver looks."""
    time.sleep(2.0)
    while site.given < site.files:
        time.sleep(0.5)
        site.give(1)


def socket_cut(site: Site, seed: int) -> str | None:
    """Cut the line again and again, also in the middle of an element, which is then sent once more."""
    rng = Random(f"socket {seed}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_PATIENCE)
        stream = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        options = ("--placement", "local", "--idle", "5", "--bad-lines", "skip")
        with site.driver(None, *options, stream=stream) as driver:
            left = [line.encode() for line in site.lines]
            while left:
                connection, _ = server.accept()
                with connection:
                    whole = left[: rng.randrange(5, 40)]
                    left = left[len(whole) :]
                    connection.sendall(b"".join(whole))
                    if left:
                        connection.sendall(left[0][: rng.randrange(1, len(left[0]) - 3)])
                    time.sleep(0.3)  # input not yet read when the connection is cut is lost without notice
                    if rng.random() < 0.5:  # a reset instead of an end
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            ended = _settled(site)
            driver.terminate()
            _, err = driver.communicate(timeout=_PATIENCE)
    if not ended:
        return f"the last windows did not close: {err}"
    return f"exit {driver.returncode}: {err}" if driver.returncode else None


def _settled(site: Site) -> bool:
    """Wait until as many units stand as there should be."""
    wanted = len(site.expected())
    until = time.monotonic() + _PATIENCE
    while len(site.found()) < wanted:
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True

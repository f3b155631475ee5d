import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dramatiq.middleware import TimeLimitExceeded
from dramatiq.threading import Interrupt, raise_thread_exception

from imaging.errors import CorruptImage, DecoderCrashed, DecoderOutOfMemory, DecoderTimeout, NotAnImage
from imaging.jobs import render
from imaging.sandbox import Sandbox
from imaging.sandbox_child import _pickled_error
from tests.imaging import jobs
from tests.imaging.pictures import four_corners, save
from tests.waiting import until

MEMORY_BYTES = 1 << 30
ROOT = Path(__file__).parents[2]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox(2, MEMORY_BYTES)
    yield sandbox
    sandbox.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_job_runs_in_another_process(sandbox: Sandbox) -> None:
    assert sandbox.call(jobs.pid, time_limit_s=10) != os.getpid()
    assert sandbox.call(jobs.double, 4, plus=1, time_limit_s=10) == 9


def test_the_decoders_are_imported_before_the_first_photo_whose_time_runs(sandbox: Sandbox) -> None:
    imported = sandbox.call(jobs.imported, time_limit_s=10)
    assert {"PIL", "exifread", "pillow_heif"} <= imported
    assert imported.isdisjoint({"dramatiq", "flask", "redis", "sqlalchemy"})


def test_a_photo_is_rendered_and_a_text_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    photo = save(tmp_path / "photo", four_corners(), "JPEG")
    rendering, metadata = sandbox.call(render, photo, max_pixels=10**6, time_limit_s=20)
    assert (rendering.width, metadata) == (600, None)
    with pytest.raises(NotAnImage):
        sandbox.call(render, Path(__file__), max_pixels=10**6, time_limit_s=20)


def test_a_process_is_used_again_and_replaced_after_its_jobs() -> None:
    sandbox = Sandbox(1, MEMORY_BYTES, jobs_per_process=3)
    pids = [sandbox.call(jobs.pid, time_limit_s=10) for _ in range(6)]
    sandbox.close()
    assert pids[:3] == [pids[0]] * 3
    assert pids[3:] == [pids[3]] * 3
    assert pids[0] != pids[3]


def test_a_hang_in_c_code_is_killed_at_its_limit(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.call(jobs.pid, time_limit_s=10)
    started = time.monotonic()
    with pytest.raises(DecoderTimeout):
        sandbox.call(jobs.announce_and_hang, tmp_path / "pid", time_limit_s=1)
    assert 1 <= time.monotonic() - started < 5
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert sandbox.call(jobs.double, 1, time_limit_s=10) == 2


@pytest.mark.parametrize(("job", "how"), [(jobs.crash, "SIGSEGV"), (jobs.be_killed, "SIGKILL")])
def test_a_dead_process_is_said_and_replaced(sandbox: Sandbox, job: Callable[[], None], how: str) -> None:
    with pytest.raises(DecoderCrashed, match=how):
        sandbox.call(job, time_limit_s=10)
    assert sandbox.call(jobs.double, 1, time_limit_s=10) == 2


def test_a_death_costs_nobody_else_anything(sandbox: Sandbox) -> None:
    def neighbour(_: int) -> int:
        return sandbox.call(jobs.nap, 0.05, time_limit_s=10)

    def victim(number: int) -> str:
        try:
            sandbox.call(jobs.die_while_answering, number * 0.01, time_limit_s=10)
        except DecoderCrashed as error:
            return error.code
        return "finished first"

    with ThreadPoolExecutor(4) as threads:
        victims = [threads.submit(victim, number) for number in range(6)]
        neighbours = [threads.submit(neighbour, number) for number in range(20)]
    assert all(job.result() for job in neighbours)
    assert "decoder-crashed" in {job.result() for job in victims}


def test_a_process_that_dies_between_two_jobs_fails_neither() -> None:
    sandbox = Sandbox(1, MEMORY_BYTES)
    first = sandbox.call(jobs.pid, time_limit_s=10)
    os.kill(first, signal.SIGKILL)
    until(lambda: not is_running(first))
    assert sandbox.call(jobs.pid, time_limit_s=10) != first
    sandbox.close()


def test_too_much_memory_is_refused_and_the_process_replaced() -> None:
    sandbox = Sandbox(1, MEMORY_BYTES)
    before = sandbox.call(jobs.pid, time_limit_s=10)
    with pytest.raises(DecoderOutOfMemory):
        sandbox.call(jobs.eat_memory, time_limit_s=10)
    assert sandbox.call(jobs.pid, time_limit_s=10) != before
    sandbox.close()


def test_what_a_decoder_says_by_itself_is_heard_by_nobody(
    sandbox: Sandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    for stream in (1, 2):
        assert sandbox.call(os.write, stream, b"TIFFReadDirectory: Warning", time_limit_s=10) == 26
    assert capfd.readouterr() == ("", "")


def test_an_error_comes_through_with_its_traceback(sandbox: Sandbox) -> None:
    with pytest.raises(CorruptImage, match="the picture is damaged") as caught:
        sandbox.call(jobs.refuse, time_limit_s=10)
    assert "jobs.py" in "".join(traceback.format_exception(caught.value))


def test_an_error_that_cannot_travel_comes_as_text(sandbox: Sandbox) -> None:
    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2"):
        sandbox.call(jobs.raise_unpicklable, time_limit_s=10)


def test_no_more_jobs_run_at_once_than_there_are_processes(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(6) as threads:
        pids = set(threads.map(lambda _: sandbox.call(jobs.nap, 0.1, time_limit_s=10), range(12)))
    assert len(pids) == 2


def test_a_slot_that_is_released_is_the_next_callers(sandbox: Sandbox) -> None:
    with sandbox.slot() as one, sandbox.slot():
        pid = one.call(os.getpid, time_limit_s=30)
        one.release()
        with sandbox.slot() as next_one:
            assert next_one.call(os.getpid, time_limit_s=30) == pid
    assert sandbox.call(abs, -1, time_limit_s=30) == 1


def test_a_process_outlives_the_thread_that_asked_for_it() -> None:
    sandbox = Sandbox(1, MEMORY_BYTES)
    pids: list[int] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: pids.append(sandbox.call(jobs.pid, time_limit_s=10)))
        thread.start()
        thread.join()
        time.sleep(0.2)  # for the kernel's signal that must not come
    sandbox.close()
    assert pids[0] == pids[1]


def test_close_ends_idle_processes_and_running_jobs(tmp_path: Path) -> None:
    sandbox = Sandbox(2, MEMORY_BYTES)
    idle = sandbox.call(jobs.pid, time_limit_s=10)
    errors: list[BaseException] = []

    def job() -> None:
        try:
            sandbox.call(jobs.announce_and_hang, tmp_path / "pid", time_limit_s=60)
        except DecoderCrashed as error:
            errors.append(error)

    threads = [threading.Thread(target=job) for _ in range(3)]
    for thread in threads:
        thread.start()
    until((tmp_path / "pid").exists)
    sandbox.close()
    for thread in threads:
        thread.join(5)
    assert len(errors) == 3
    assert not is_running(idle)
    with pytest.raises(DecoderCrashed):
        sandbox.call(jobs.pid, time_limit_s=10)


OWNER = """
import sys, threading
from pathlib import Path
from imaging.sandbox import Sandbox
from imaging.sandbox_child import _pickled_error
from tests.imaging import jobs

sandbox = Sandbox(2, 1 << 30)
busy = lambda: sandbox.call(jobs.announce_and_hang, Path(sys.argv[1]), time_limit_s=60)
threading.Thread(target=busy, daemon=True).start()
Path(sys.argv[2]).write_text(str(sandbox.call(jobs.pid, time_limit_s=10)))
threading.Event().wait()
"""


def test_children_die_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    files = [tmp_path / "busy", tmp_path / "idle"]
    owner = subprocess.Popen([sys.executable, "-c", OWNER, *files], cwd=ROOT)
    until(lambda: all(file.exists() and file.read_text() for file in files), timeout_s=20)
    children = [int(file.read_text()) for file in files]
    assert all(map(is_running, children))
    owner.kill()
    owner.wait()
    until(lambda: not any(map(is_running, children)))


def in_a_forked_worker(answers: "multiprocessing.SimpleQueue[int]") -> None:
    sandbox = Sandbox(1, MEMORY_BYTES)
    with ThreadPoolExecutor(2) as threads:
        for answer in threads.map(lambda number: sandbox.call(jobs.double, number, time_limit_s=10), (1, 2)):
            answers.put(answer)
    sandbox.close()


def test_it_works_in_threads_of_a_process_that_was_forked() -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    worker = context.Process(target=in_a_forked_worker, args=(answers,))
    worker.start()
    worker.join(20)
    assert worker.exitcode == 0
    assert [answers.get(), answers.get()] == [2, 4]


def test_an_exception_from_another_thread_ends_the_call_soon_and_frees_the_slot(tmp_path: Path) -> None:
    sandbox = Sandbox(1, MEMORY_BYTES)
    ended: list[BaseException] = []

    def job() -> None:
        try:
            sandbox.call(jobs.announce_and_hang, tmp_path / "pid", time_limit_s=60)
        except Interrupt as error:
            ended.append(error)

    thread = threading.Thread(target=job)
    thread.start()
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    assert thread.ident is not None
    raise_thread_exception(thread.ident, TimeLimitExceeded)
    thread.join(3)
    assert [type(error) for error in ended] == [TimeLimitExceeded]
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert sandbox.call(jobs.double, 1, time_limit_s=10) == 2
    sandbox.close()


def test_no_error_of_numpys_brings_numpy_to_the_parent() -> None:
    class ArrayMemoryError(MemoryError):
        """As NumPy's: of its own module, which whoever unpickles it imports."""

    answer = pickle.loads(_pickled_error(ArrayMemoryError("no room"), ""))
    assert (type(answer[1]), str(answer[1])) == (MemoryError, "no room")

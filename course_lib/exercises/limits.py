"""A time limit for other people's code.

In the main thread, where the system has ``SIGALRM``, a timer interrupts; elsewhere, and on
Windows, a second thread does, by ``PyThreadState_SetAsyncExc``. Either raises
:class:`TimeIsUp` in the running code, and again every half second, for code that catches it. It
is no ``Exception``, so that ``except Exception`` lets it through. A call into compiled code (one
huge matrix product) is only left when it returns.
"""

import contextlib
import ctypes
import signal
import threading
import time

_AGAIN_SECONDS = 0.5


class TimeIsUp(BaseException):
    """The code that runs has had its time."""


@contextlib.contextmanager
def time_limit(seconds):
    """Run the body for so many seconds at most.

    Parameters
    ----------
    seconds : float

    Raises
    ------
    TimeIsUp
        In the body, when its time is up.
    """
    in_main = threading.current_thread() is threading.main_thread()
    limit = _by_signal if in_main and hasattr(signal, "setitimer") else _by_thread
    with limit(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds):
    running = True

    def ring(signum, frame):
        if running:
            raise TimeIsUp

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _AGAIN_SECONDS)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Nobody but C code can have set a handler that Python does not know.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        if left:  # somebody else's timer goes on where it would be now
            left = max(left - (time.monotonic() - began), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextlib.contextmanager
def _by_thread(seconds):
    target = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    over = threading.Event()

    def watch():
        wait = seconds
        while not over.wait(wait):
            raise_in(target, ctypes.py_object(TimeIsUp))
            wait = _AGAIN_SECONDS

    watcher = threading.Thread(target=watch, name="time limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        while watcher.is_alive() or not over.is_set():
            with contextlib.suppress(TimeIsUp):  # one that arrives only now
                over.set()
                watcher.join()
        raise_in(target, None)  # one that was sent and has not arrived yet

"""A time limit for other people's code.

In the main thread, where the system has ``SIGALRM``, a timer interrupts; elsewhere, and on
Windows, a second thread does, by ``PyThreadState_SetAsyncExc``. Either raises :class:`TimeIsUp`
in the running code, and again every half second, for code that catches it. It is no
``Exception``, so that ``except Exception`` lets it through. Where even a bare ``except`` in a
loop has swallowed it several times, the timer rings so often that it soon rings between two
rounds.

Two things it cannot do: leave a call into compiled code (one huge matrix product) before that
returns, and, by the second thread, end a loop that catches everything while it sleeps.
"""

import contextlib
import ctypes
import random
import signal
import sys
import threading
import time

_AGAIN_SECONDS = 0.5
# After so many times, the code is taken to catch whatever is raised.
_PATIENCE = 3
_OFTEN_SECONDS = 1e-4


class TimeIsUp(BaseException):
    """The code that runs has had its time."""


def within(seconds, function, *arguments):
    """Call a function and return what it returns, or stop it when its time is up.

    A timer that somebody else has set rings afterwards, at the earliest.

    Parameters
    ----------
    seconds : float
    function : callable
    *arguments
        Of the function.

    Raises
    ------
    TimeIsUp
        If it was stopped.
    """
    guard = _Guard()
    in_main = threading.current_thread() is threading.main_thread()
    limit = _by_signal if in_main and hasattr(signal, "setitimer") else _by_thread
    with limit(seconds, guard):
        return guard.run(function, arguments)


class _Guard:
    """Knows whether the function is running: only then may it be interrupted."""

    def __init__(self):
        self.frame = None
        self.is_over = False

    def run(self, function, arguments):
        self.frame = sys._getframe()
        try:
            return function(*arguments)
        finally:
            self.is_over = True
            self.frame = None

    def is_above(self, frame):
        """Whether a frame belongs to the function, or to what it has called."""
        guard = self.frame
        if guard is None or frame is guard:
            return False
        while frame is not None and frame is not guard:
            frame = frame.f_back
        return frame is guard


@contextlib.contextmanager
def _by_signal(seconds, guard):
    rung = 0

    def ring(signum, frame):
        nonlocal rung
        if guard.is_over:
            return
        rung += 1
        wait = _AGAIN_SECONDS if rung < _PATIENCE else random.uniform(1e-6, _OFTEN_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, wait)
        if guard.is_above(frame):
            raise TimeIsUp

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # None stands for a handler that was not set from Python.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        if left:  # somebody else's timer goes on where it would be now
            left = max(left - (time.monotonic() - began), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextlib.contextmanager
def _by_thread(seconds, guard):
    number = threading.get_ident()
    target = ctypes.c_ulong(number)
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    over = threading.Event()

    def watch():
        wait = seconds
        while not over.wait(wait):
            if guard.is_over:
                return
            if guard.is_above(sys._current_frames().get(number)):
                raise_in(target, ctypes.py_object(TimeIsUp))
            wait = _AGAIN_SECONDS

    watcher = threading.Thread(target=watch, name="time limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        raise_in(target, None)  # one that was sent and has not arrived yet

"""Ctrl-C: the first one asks for an end in order, the second one for an end at once."""

import contextlib
import signal
import threading


class Interrupts:
    """What has been asked for by signals since ``watched`` began.

    Attributes
    ----------
    asked : bool
        Whether the work shall end in order.
    """

    def __init__(self):
        self.asked = False

    @contextlib.contextmanager
    def watched(self):
        """Note a first Ctrl-C, or the request of a system that shuts down, in ``asked``.

        Raises
        ------
        KeyboardInterrupt
            At the second one, wherever the program is.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # signals reach the main thread only
            return
        before = {}
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, self._note)
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number, frame):
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

"""A function is stopped in time, in any thread, and everything is left as it was."""

import signal
import sys
import threading
import time

import pytest

from course_lib.exercises.limits import TimeIsUp, _Guard, within


def spin(*_):
    while True:
        pass


def spin_and_catch(*_):
    again = 0
    while True:
        try:
            len("x")
        except:  # noqa: E722 (what a student writes)
            again += 1


def outcome_in_a_thread(function, *arguments):
    """What a call gives or raises in a thread that is not the main one."""
    found = []

    def work():
        try:
            found.append(function(*arguments))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    return found[0]


def test_result_in_time_is_returned():
    assert within(5, divmod, 7, 2) == (3, 1)
    assert outcome_in_a_thread(within, 5, divmod, 7, 2) == (3, 1)


@pytest.mark.parametrize("function", [spin, spin_and_catch])
def test_loop_is_stopped_in_the_main_thread_and_in_another(function):
    began = time.monotonic()
    with pytest.raises(TimeIsUp):
        within(0.2, function)
    assert isinstance(outcome_in_a_thread(within, 0.2, function), TimeIsUp)
    assert time.monotonic() - began < 5


def test_sleep_in_a_loop_that_catches_everything_is_stopped():
    def stubborn():
        again = 0
        while True:
            try:
                time.sleep(0.01)
            except:  # noqa: E722 (what a student writes)
                again += 1

    with pytest.raises(TimeIsUp):
        within(0.1, stubborn)


def test_own_errors_pass_through():
    with pytest.raises(ZeroDivisionError):
        within(5, divmod, 1, 0)
    assert isinstance(outcome_in_a_thread(within, 5, divmod, 1, 0), ZeroDivisionError)


def test_ctrl_c_passes_through():
    def presses():
        signal.raise_signal(signal.SIGINT)
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        within(5, presses)


@pytest.fixture
def alarms():
    """A handler and a timer that somebody else has set, and when it rang."""
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(time.monotonic()))
    yield rang
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("stopped", [False, True])
def test_timer_of_somebody_else_goes_on(alarms, stopped):
    handler = signal.getsignal(signal.SIGALRM)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.7)
    if stopped:
        with pytest.raises(TimeIsUp):
            within(0.4, spin)
    else:
        within(5, time.sleep, 0.4)
    assert signal.getsignal(signal.SIGALRM) is handler and not alarms
    time.sleep(0.6)
    assert len(alarms) == 1 and 0.69 < alarms[0] - began < 0.95


def test_timer_that_ran_out_meanwhile_rings_afterwards(alarms):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    within(5, time.sleep, 0.2)
    time.sleep(0.1)
    assert len(alarms) == 1


def test_only_the_function_and_what_it_calls_may_be_interrupted():
    guard = _Guard()

    def function():
        return guard.is_above(sys._getframe()), (lambda: guard.is_above(sys._getframe()))()

    assert guard.run(function, ()) == (True, True)
    assert not guard.is_above(sys._getframe())
    inside = _Guard()
    assert not inside.run(lambda: inside.is_above(inside.frame), ())


def test_no_timer_and_no_thread_is_left():
    for call in (lambda: within(5, int), lambda: outcome_in_a_thread(within, 5, int)):
        call()
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert [t.name for t in threading.enumerate() if t.name == "time limit"] == []


def test_stop_that_comes_just_at_the_end_is_never_late():
    def many():
        stopped = 0
        for _number in range(400):
            try:
                within(0.001, time.sleep, 0.001)
            except TimeIsUp:
                stopped += 1
            sum(range(200))  # where a late one would arrive
        return stopped

    assert 0 <= many() <= 400
    assert isinstance(outcome_in_a_thread(many), int)

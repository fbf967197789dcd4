#!/usr/bin/env python3
"""Types into the interactive client through a terminal of its own.

usage: type.py WAIT:TEXT … -- COMMAND …      waits, then types; TEXT "\\r" is Enter. Ends the client after the last one.

Prints what the client drew. WAIT is a number of seconds, or a file that must be there first, for a minute at most.
"""
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import sys
import termios
import time

split = sys.argv.index("--")
steps, command = sys.argv[1:split], sys.argv[split + 1:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))


drawn = b""


def drain(seconds):
    """Reads what the client draws; False once it has gone."""
    global drawn
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 65536)
                drawn += piece
                if not piece:
                    return False
            except OSError:
                return False
    return True


def wait(what):
    """Waits for a time or a file; False once the client has gone."""
    if what[0].isdigit():
        return drain(float(what))
    end = time.monotonic() + 60
    while time.monotonic() < end and not pathlib.Path(what).exists():
        if not drain(0.2):
            return False
    return True


alive = True
for step in steps:
    what, text = step.split(":", 1)
    alive = alive and wait(what)
    if alive:
        os.write(terminal, text.replace("\\r", "\r").encode())
if alive and drain(8):
    os.kill(child, signal.SIGHUP)
os.waitpid(child, 0)
sys.stdout.buffer.write(drawn)

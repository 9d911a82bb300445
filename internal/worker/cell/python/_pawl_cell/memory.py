"""Caches and branches of the processor, worked on by a few lines of machine code."""

import ctypes
import mmap
import os
import platform
import struct


def cache_bytes():
    """Size of the largest cache of the processor."""
    largest = 0
    folder = "/sys/devices/system/cpu/cpu0/cache"
    try:
        for index in os.listdir(folder):
            if index.startswith("index"):
                with open(f"{folder}/{index}/size") as file:
                    text = file.read().strip()
                scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
                largest = max(largest, int(text.rstrip("KMG")) * scale)
    except (OSError, ValueError):
        pass
    return largest or 32 << 20


def line_flusher():
    """A function (start, end) that evicts lines from all caches, as host kernels
    are measured, and its instruction; None where this processor is not known or
    nothing may be made executable."""
    if platform.machine() != "x86_64":
        return None, ""
    try:
        with open("/proc/cpuinfo") as file:
            optimized = " clflushopt " in file.read()
        # again: clflushopt [rdi]; add rdi, 64; cmp rdi, rsi; jb again; mfence; ret
        loop = (b"\x66" if optimized else b"") + bytes.fromhex("0fae3f 4883c740 4839f7")
        code = loop + bytes([0x72, 256 - len(loop) - 2]) + bytes.fromhex("0faef0 c3")
        return machine_code(code), "clflushopt" if optimized else "clflush"
    except (OSError, ValueError):
        return None, ""


def machine_code(code):
    """A function of two words."""
    page = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    function.page = page  # lives as long as the function
    return function


def walker():
    """A function (first, end) that loads from each address listed there, one after the
    other, made anew for each use; None where nothing may be made executable."""
    if platform.machine() != "x86_64":
        return None
    # xor edx, edx; again: mov rax, [rdi]; movzx ecx, byte [rax + rdx]; and ecx, 0; mov edx, ecx; add rdi, 8; cmp rdi, rsi; jb again; ret
    try:
        return machine_code(bytes.fromhex("31d2 488b07 0fb60c10 83e100 89ca 4883c708 4839f7 72eb c3"))
    except (OSError, ValueError):
        return None


def branches():
    """A function (rounds, seed) of branches that nobody can predict, as a host cell
    has it; None where nothing may be made executable."""
    if platform.machine() != "x86_64":
        return None
    # add rax, rax; jnc over; xor rax, 27; over:
    places = bytes.fromhex("4801c0 7304 4883f01b") * 4096
    back = struct.pack("<i", -len(places) - 9)
    try:
        # mov rax, rsi; again: places; dec rdi; jnz again; ret
        return machine_code(bytes.fromhex("4889f0") + places + bytes.fromhex("48ffcf 0f85") + back + b"\xc3")
    except (OSError, ValueError):
        return None

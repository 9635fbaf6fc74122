"""Bytes and programs: what runs what the driver has prepared. Nothing here knows the graph.

backend.py      what a backend is, which are registered, how one is chosen
buffers.py      host memory and its pool                        memory.py   how much there is
counters.py     what the process has done so far
cache.py        the disk cache, for kernels and for bytes by key
compiler.py     the C compiler and the keys of kernels          build.py    running it
cpu.py          the C backend                                   reference.py the backend that interprets graphs
executable.py   a program checked and encoded for native/       library.py  its library steps
native/         the thread pool and the program loop, in C
"""

"""graphc beside other array libraries: `python -m benchmarks --help`.

    works/       one file a work: its inputs, what it must cost, and the same formula in each peer's natural style
    peers.py     how a peer takes inputs, runs a formula and gives the answer back
    worker.py    a process that is one peer, driven through its stdin and stdout
    runner.py    rounds that alternate between the peers; answers are checked before anything is timed
    overhead.py  what graphc costs where arrays are small: recording, realizing, importing, starting
    report.py    the tables; chart.py the picture

What this machine can do, bandwidth and multiply-adds, is measured in the same run by graphc/runtime/floor.py.
"""

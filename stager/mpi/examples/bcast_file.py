#!/usr/bin/python3
"""Broadcasts a file to the nodes of a program in Python, with mpi4py and libstagecast-mpi.

    mpirun.openmpi -np 8 --hostfile hosts ./bcast_file.py model.bin /tmp/model.bin

Every rank makes the call; on each node one rank writes. The file is that of rank 0.
"""
import ctypes
import sys

from mpi4py import MPI

LEAVE, NEWER, OVERWRITE = 1, 2, 3


def library():
    """The one for the MPI that mpi4py was built with."""
    name = "openmpi" if "Open MPI" in MPI.Get_library_version() else "mpich"
    stagecast = ctypes.CDLL(f"libstagecast-mpi-{name}.so.0")
    stagecast.stagecast_error.restype = ctypes.c_char_p
    return stagecast


def bcast_file(comm, source, destination, flag=LEAVE, root=0, on_each_node=False):
    """Copies `source` of rank `root` to `destination` on every node. OSError on all ranks if a node has not got it."""
    stagecast = library()
    # The call for Fortran: its handle of a communicator is an integer with every MPI.
    failed = stagecast.stagecast_bcast_file_f(
        comm.py2f(), source.encode(), destination.encode(), root, flag, int(on_each_node))
    if failed:
        raise OSError(stagecast.stagecast_error().decode())


if __name__ == "__main__":
    library()  # Where it is missing, this rank ends here, and mpirun ends the others.
    outcome = "written"
    try:
        bcast_file(MPI.COMM_WORLD, sys.argv[1], sys.argv[2], NEWER)
    except OSError as error:
        outcome = error
    print(f"rank {MPI.COMM_WORLD.rank}: {outcome}", flush=True)
    MPI.COMM_WORLD.Barrier()  # (mpirun ends all ranks when one ends with 1.)
    sys.exit(outcome != "written")

# Tests libstagecast-mpi with every MPI that is installed: three hosts with two ranks each.

bats_require_minimum_version 1.5.0
load mpi

setup_file() { mpi_up 3 calls; }

good_calls() {
  local node
  input large 64000003 n0 /tmp/large
  input empty 0 n0 /tmp/empty
  input other 3000000 n1 /tmp/other
  mkdir -p "$WORK/shared"
  chown 2001 "$WORK/shared"
  input shared 100000 n0 "$T/shared/in"
  for node in n0 n1 n2; do
    put $node /tmp/kept/x old '2020-01-01'
    put $node /tmp/newer/older old '2020-01-01'
    put $node /tmp/newer/younger young '2026-06-01'
    put $node /tmp/over/x young '2026-06-01'
  done
  mpi "$1" src=/tmp/large,flag=3,transport=tcp,interrupt=1 src=/tmp/large,plain=1,flag=3 src=large,dst=copy,flag=1,plain=1 \
    src=/tmp/empty,dst=/tmp/e.out src=/tmp/other,dst=/tmp/o.out,root=3,transport=tcp \
    src=/tmp/empty,dst=/tmp/kept/x,flag=1 src=/tmp/empty,dst=/tmp/newer/older,flag=2 \
    src=/tmp/empty,dst=/tmp/newer/younger,flag=2 src=/tmp/empty,dst=/tmp/over/x,flag=3 \
    "src=$T/shared/in,dst=/tmp/s.out" "src=$T/shared/in,dst=/tmp/each.out,each=1" \
    src=/tmp/large,flag=3
  got 1 'rc=0 status=1' 'rc=0 status=1 written=2' 'rc=0 status=0' 'rc=0 status=0' 'rc=0 status=0' 'rc=0 status=0'   # 64 MB, to where the source is
  for node in n1 n2; do same $node /tmp/large large; done
  got 2 'rc=0'   # it has the same time everywhere; and call 12 says the same
  got 12 'rc=0 status=1 written=0'
  got 3 'rc=0'   # relative paths; the source counts as shared, so the root alone writes
  same n0 /tmp/copy large
  absent n1 /tmp/copy
  got 4 'rc=0 status=0 written=3'
  for node in n0 n1 n2; do same $node /tmp/e.out empty; done
  got 5 'rc=0 status=0 written=3'   # the root is rank 3, of n1
  for node in n0 n1 n2; do same $node /tmp/o.out other; done
  got 6 'rc=0 status=2 written=0'   # flags: leave, newer, newer, overwrite
  [ "$(lab on n1 cat /tmp/kept/x < /dev/null)" = old ]
  got 7 'rc=0 status=0 written=3'
  for node in n0 n1 n2; do same $node /tmp/newer/older empty; done
  got 8 'rc=0 status=2 written=0'
  [ "$(lab on n2 cat /tmp/newer/younger < /dev/null)" = young ]
  got 9 'rc=0 status=0 written=3'
  for node in n0 n1 n2; do same $node /tmp/over/x empty; done
  got 10 'rc=0 status=0 written=1' 'status=0' 'status=1' 'status=1' 'status=1' 'status=1'
  absent n1 /tmp/s.out
  got 11 'rc=0 status=0 written=3'
  for node in n0 n1 n2; do same $node /tmp/each.out shared; done
  no_temporary
  no_worker
}

@test "flags, roots, relative paths, an empty file, 64 MB, the same time, a shared source" {
  each_mpi good_calls
}

bad_calls() {
  input file 3000000 n0 /tmp/in
  lab on n2 bash -c 'mkdir /tmp/no; chmod 555 /tmp/no' < /dev/null
  lab on n0 -u alice mkdir /tmp/no < /dev/null
  lab on n1 -u alice mkdir /tmp/no < /dev/null
  mpi "$1" src=/tmp/missing,flag=3 src=/tmp/in,dst=/tmp/no/x,flag=3 src=/tmp,flag=3 src=/tmp/in,flag=7 \
    src=/tmp/in,dst=/tmp/out,on=eth7 src=/tmp/in,dst=/tmp/out,root=9 src=/tmp/in,dst=/tmp/out,plain=1 \
    src=/tmp/in,dst=/tmp/out,processes=1
  got 1 'error=rank 0 (n0): /tmp/missing: No such file or directory'
  got 1 'rc=1 status=3' 'rc=1 status=3' 'rc=1 status=4' 'rc=1 status=4' 'rc=1 status=4' 'rc=1 status=4'
  got 2 'error=rank 4 (n2): /tmp/no/x: Permission denied'
  got 2 'rc=1 status=4' 'rc=1 status=4' 'rc=1 status=4' 'rc=1 status=4' 'rc=1 status=3' 'rc=1 status=3'
  absent n0 /tmp/no/x
  absent n1 /tmp/no/x
  got 3 'error=rank 0 (n0): /tmp: is a directory, and only a file can be broadcast'
  got 4 'error=rank 0 (n0): flag 7: write 1 (leave), 2 (overwrite if newer) or 3 (overwrite)'
  got 5 "error=rank 0 (n0): network interface 'eth7' is absent"
  got 6 'rc=1 status=-1 written=0 error=the root is not a rank of the communicator'
  got 7 'rc=0'   # after all that
  same n2 /tmp/out file
  got 8 'Resource temporarily unavailable; you have too many processes here: end some, or raise the limit (ulimit -u)'
  no_temporary
  no_worker
}

@test "a missing source, a directory that one node cannot write, and nonsense: every rank gets the same sentence" {
  each_mpi bad_calls
}

# Another user's files with the source's size and time.
planted() {
  local wrong
  input file 300000 n0 /tmp/in
  lab on n1 -u bob bash -c "for one in in out; do head -c 300000 /dev/zero > /tmp/\$one; chmod 666 /tmp/\$one
    touch -d '2026-01-02 03:04:05.678901' /tmp/\$one; done" < /dev/null
  mpi "$1" src=/tmp/in,dst=/tmp/new,flag=3 src=/tmp/in,plain=1,flag=3 src=/tmp/in,dst=/tmp/out,flag=3,each=1
  got 1 'rc=0 status=0 written=3'
  same n1 /tmp/new file
  for wrong in 2 3; do
    got $wrong 'rc=1'
    grep -E "^$wrong 0 .*rank 2 \(n1\): /tmp/(in|out): Operation not permitted" "$WORK/out"
  done
  lab on n1 rm /tmp/in /tmp/out < /dev/null
  # One that all nodes share, and that is another user's on all of them, is there.
  mkdir -p "$WORK/shared"
  chown 2001 "$WORK/shared"
  input shared 3000 n0 "$T/shared/bobs"
  lab on n0 chown bob "$T/shared/bobs" < /dev/null
  lab on n0 chmod 644 "$T/shared/bobs" < /dev/null
  mpi "$1" "src=$T/shared/bobs,dst=/tmp/bobs"
  got 1 'rc=0 status=0 written=1' 'status=0' 'status=1' 'status=1' 'status=1' 'status=1'
  lab on n0 rm -f "$T/shared/bobs" < /dev/null
}

@test "a file that another user placed is not the one that is there already" {
  each_mpi planted
}

special() {
  input file 3000 n0 /tmp/in
  lab on n1 -u alice mkfifo /tmp/out < /dev/null
  mpi "$1" src=/tmp/in,dst=/tmp/out,flag=3 src=/tmp/in,dst=
  got 1 'rc=1'
  got 1 'error=rank 2 (n1): /tmp/out: exists already and is no regular file'
  [ "$(lab on n1 stat -c %F /tmp/out < /dev/null)" = fifo ]
  absent n2 /tmp/out
  got 2 'error=rank 0 (n0): the destination has no name'
}

@test "overwriting leaves a FIFO, and a destination needs a name" {
  each_mpi special
}

by_multicast() {
  local before
  input file 8000000 n0 /tmp/in
  before=$(lab on n0 cat /sys/class/net/eth0/statistics/tx_bytes < /dev/null)
  ENVIRONMENT=STAGECAST_INTERFACE=eth0 mpi "$1" src=/tmp/in,dst=/tmp/out
  got 1 'rc=0 status=0 written=3'
  same n1 /tmp/out file
  same n2 /tmp/out file
  # Once for both receivers.
  [ $(($(lab on n0 cat /sys/class/net/eth0/statistics/tx_bytes < /dev/null) - before)) -lt 14000000 ]
}

@test "by multicast, where an interface is named" {
  each_mpi by_multicast
}

begun() { lab on n1 test -s /tmp/progress < /dev/null; }

killed_rank() {
  local rc=0 running
  input file 64000000 n0 /tmp/in
  mpi "$1" src=/tmp/in,dst=/tmp/out,rate=16000000,transport=tcp,say=/tmp/progress 3>&- &
  running=$!
  wait_for 30 begun
  lab on n1 pkill -KILL -u alice -o "calls-$1" < /dev/null
  wait "$running" || rc=$?
  # (Of timeout it is 124; mpirun itself may say that a rank ended by SIGKILL: 137.)
  [ $rc != 0 ] && [ $rc != 124 ] || { echo "mpirun: $rc"; return 1; }
  run ! grep ' rc=' "$WORK/out"
  wait_for 10 no_worker
  no_temporary
  absent n2 /tmp/out
}

@test "a killed rank: mpirun ends the program, and neither a worker nor a part of the file stays" {
  each_mpi killed_rank
}

killed_worker() {
  local running
  input file 8000000 n0 /tmp/in
  mpi "$1" src=/tmp/in,dst=/tmp/out,rate=16000000,transport=tcp,stall=4,say=/tmp/progress src=/tmp/in,dst=/tmp/again 3>&- &
  running=$!
  wait_for 30 begun
  lab on n1 pkill -KILL -u alice stagecast-worke < /dev/null
  wait "$running"
  got 1 'rc=1' 'rc=1' 'rc=1 status=3' 'rc=1 status=3' 'rc=1' 'rc=1'
  got 1 'error=rank 2 (n1): stagecast-worker ended by SIGKILL'
  # The relay passes over n1, so n2 may have the file, but never a part of it.
  if lab on n2 test -e /tmp/out < /dev/null; then same n2 /tmp/out file; fi
  got 2 'rc=0 status=0 written=3'
  same n2 /tmp/again file
}

@test "a killed worker: the call fails on every rank and names the node, and the next one succeeds" {
  each_mpi killed_worker
}

# A function of the hosts, so that what is installed there counts. (Debian's mpi4py is made for its default MPI, Open MPI.)
has_mpi4py() {
  lab on n0 -u alice python3 -c 'import mpi4py, glob, subprocess
libraries = subprocess.check_output(["ldd"] + glob.glob(mpi4py.__path__[0] + "/MPI.*.so"), text=True)
raise SystemExit("libmpi.so" not in libraries)' < /dev/null
}

from_python() {
  local ENVIRONMENT=LD_LIBRARY_PATH=/srv/mpi
  install -m 755 "$MPI_HOME/../../stager/mpi/examples/bcast_file.py" "$CLUSTER_DIR/srv/mpi/"
  # shellcheck disable=SC2046
  lab on n0 -u alice -d /tmp timeout -k 5 60 $(launcher openmpi) python3 /srv/mpi/bcast_file.py "$@" < /dev/null > "$WORK/out" 2>&1 3>&-
}

@test "from Python, by mpi4py" {
  [[ " ${MPIS[*]} " == *" openmpi "* ]] || skip "no Open MPI is installed"
  has_mpi4py || skip "python3-mpi4py is not installed, or of another MPI"
  input file 3000000 n0 /tmp/in
  from_python /tmp/in /tmp/out
  [ "$(grep -c '^rank [0-5]: written$' "$WORK/out")" = 6 ]
  for node in n0 n1 n2; do same $node /tmp/out file; done
  run -1 from_python /tmp/missing /tmp/out
  [ "$(grep -c '^rank [0-5]: rank 0 (n0): /tmp/missing: No such file or directory$' "$WORK/out")" = 6 ]
  no_worker
}

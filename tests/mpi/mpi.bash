# Runs MPI programs with libstagecast-mpi or libstagecast-bcast on emulated hosts, without daemon or Slurm: `load mpi`.
#
# PER_HOST ranks (2) on each of HOSTS hosts (3) from n0 on, as alice: ranks 0 and 1 on n0, and so on. /tmp is the host's own, /home shared.
# The output of a run is in $WORK/out: of each call (from 1) and rank a line, see calls.c and bcasts.c.
# shellcheck shell=bash
# shellcheck disable=SC2154  # T, WORK, NODES come from test_begins

load ../cluster/lib/cluster

MPI_HOME=$BATS_TEST_DIRNAME
BUILT=${STAGECAST_BUILD:-$MPI_HOME/../../build}
MPIS=()
for one in ${STAGECAST_MPIS:-openmpi mpich}; do
  if command -v "mpirun.$one" > /dev/null && [ -e "$BUILT/libstagecast-mpi-$one.so" ]; then MPIS+=("$one"); fi
done

# mpi_up HOSTS PROGRAM...: with these programs of this folder, for each MPI.
mpi_up() {
  local one program place
  cluster_up "$1" --hosts || return 1
  shift
  place=$CLUSTER_DIR/srv/mpi
  install -d -m 755 "$place" && install -d -o 2001 -g 2001 "$place/sockets"
  install -m 755 "$MPI_HOME/rsh" "$place/"
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -shared -fPIC -o "$place/blocking.so" "$MPI_HOME/../bench/beowulf/blocking.c" || return 1
  for one in "${MPIS[@]}"; do
    install -m 755 "$BUILT/libstagecast-mpi-$one.so" "$place/libstagecast-mpi-$one.so.0"
    install -m 755 "$BUILT/libstagecast-bcast-$one.so" "$place/libstagecast-bcast-$one.so.0"
    for program; do compile "$program" "$one" || return 1; done
  done
}

# compile PROGRAM MPI
compile() {
  local place=$CLUSTER_DIR/srv/mpi flags=(-O1 -Wall -Wextra -Werror -I"$MPI_HOME/../..")
  case $1 in
    calls) "mpicc.$2" -std=gnu99 "${flags[@]}" -o "$place/$1-$2" "$MPI_HOME/$1.c" "$place/libstagecast-mpi-$2.so.0" -Wl,-rpath,/srv/mpi ;;
    tool | early_begin) "mpicc.$2" -std=gnu11 "${flags[@]}" -shared -fPIC -o "$place/$1-$2.so" "$MPI_HOME/$1.c" ;;
    fortran) ! has_fortran "$2" || "mpif90.$2" -O1 -I "$MPI_HOME/../.." -o "$place/$1-$2" "$MPI_HOME/$1.f90" "$MPI_HOME/$1_c.c" ;;
    *) "mpicc.$2" -std=gnu11 "${flags[@]}" -pthread -o "$place/$1-$2" "$MPI_HOME/$1.c" ;;
  esac
}
has_fortran() { command -v "mpif90.$1" > /dev/null && "mpif90.$1" --version > /dev/null 2>&1; }

setup() {
  [ ${#MPIS[@]} -gt 0 ] || skip "no MPI is installed"
  test_begins
  hosts_listen
}

# On every host what mpirun starts other programs by.
hosts_listen() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" -u alice socat "UNIX-LISTEN:/srv/mpi/sockets/$node,unlink-early,fork" EXEC:/bin/sh < /dev/null > /dev/null 2>&1 3>&- &
  done
  for node in "${NODES[@]}"; do wait_for 10 test -S "$CLUSTER_DIR/srv/mpi/sockets/$node"; done
}

hosts_swept() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c 'pkill -KILL -u alice; while pgrep -u alice > /dev/null; do sleep .05; done; rm -rf /dev/shm/*; true'
    rm -f "$CLUSTER_DIR/srv/mpi/sockets/$node"
  done
  clean_tmp
}

teardown() {
  local clean=yes
  [ ${#MPIS[@]} -gt 0 ] || return 0
  if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -e "$WORK/out" ]; then sed 's/^/# /' "$WORK/out" | tail -n 60; fi
  hosts_swept
  wait_for 10 residue_none || { echo "# left behind:"; residue_show; clean=no; }
  rm -rf "$WORK"
  [ "$clean" = yes ]
}

teardown_file() { cluster_down; }

clean_tmp() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" find /tmp -mindepth 1 -delete < /dev/null; done
}

# (A failure ends the test: a function that is called on the left of || would go on.)
each_mpi() {
  local one
  for one in "${MPIS[@]}"; do
    echo "# $one"
    "$@" "$one"
    clean_tmp
  done
}

ranks() { echo $((${PER_HOST:-2} * ${HOSTS:-3})); }

# Prints the command that starts the ranks.
launcher() {
  local common="STAGECAST_WORKER=/srv/stagecast/libexec/stagecast/stagecast-worker ${ENVIRONMENT:-}" word words=() i hosts= slots=
  for ((i = 0; i < ${HOSTS:-3}; i++)); do hosts+=${hosts:+,}n$i slots+=${slots:+,}n$i:${PER_HOST:-2}; done
  case $1 in
    openmpi)
      for word in $common; do words+=(-x "$word"); done
      echo mpirun.openmpi -np "$(ranks)" --host "$slots" --bind-to none --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 \
        --mca oob_tcp_if_include eth0 --mca plm_rsh_agent /srv/mpi/rsh --mca mpi_yield_when_idle 1 "${words[@]}" ;;
    mpich)
      for word in $common UCX_NET_DEVICES=eth0; do words+=(-genv "${word%%=*}" "${word#*=}"); done
      echo mpiexec.hydra -np "$(ranks)" -ppn "${PER_HOST:-2}" -hosts "$hosts" -iface eth0 -launcher rsh -launcher-exec /srv/mpi/rsh "${words[@]}" ;;
  esac
}

# mpi MPI CALL...: all calls, in one program.
mpi() {
  local name=$1 rc=0 ENVIRONMENT=${ENVIRONMENT:-}
  shift
  ENVIRONMENT+=" LD_PRELOAD=/srv/mpi/blocking.so"
  # shellcheck disable=SC2046
  lab on n0 -u alice -d /tmp timeout -k 5 60 $(launcher "$name") "/srv/mpi/calls-$name" "$@" < /dev/null > "$WORK/out" 2>&1 3>&- || rc=$?
  # On emulated hosts MPICH may wait for ever in MPI_Finalize(): calls.c leaves it then, and the launcher complains.
  [ "$rc" = 0 ] || { [ "$name" = mpich ] && [ "$(grep -c ' rc=' "$WORK/out")" = $((6 * $#)) ]; }
}

# preloaded PROGRAM MPI MODE WORD...: a program that broadcasts with libstagecast-bcast. Messages of LEAST bytes, otherwise of
# 64 KiB, are long, and of up to SHORT (8192) short. Fails unless every rank says that it got what was sent, within LIMIT (100) seconds.
# Ranks that poll for long wait in the kernel, unless WAITS is empty. BEFORE is a library that is loaded before libstagecast-bcast,
# and AFTER one that is after it. OTHER names another file than the library's.
preloaded() {
  local program=$1 name=$2 rc=0 right waits=${WAITS-yes}
  local library=/srv/mpi/libstagecast-bcast-${OTHER:-}$name.so.0
  local ENVIRONMENT="LD_PRELOAD=${BEFORE:+$BEFORE:}$library${AFTER:+:$AFTER}${waits:+:/srv/mpi/blocking.so} STAGECAST_BCAST=$3"
  ENVIRONMENT+=" STAGECAST_BCAST_VERBOSE=1 STAGECAST_BCAST_MIN=${LEAST:-65536} STAGECAST_BCAST_SHORT=${SHORT:-8192}"
  shift 3
  # shellcheck disable=SC2046
  lab on n0 -u alice -d /tmp timeout -k 5 "${LIMIT:-100}" $(launcher "$name") "/srv/mpi/$program-$name" "$@" < /dev/null > "$WORK/out" 2>&1 3>&- || rc=$?
  right=$(grep -o 'rank [0-9]: ok' "$WORK/out" | sort -u | wc -l)
  [ "$right" = "$(ranks)" ] || { echo "only $right ranks are right, and $rc"; return 1; }
  [ "$rc" = 0 ] || [ "$name" = mpich ]   # See mpi().
}
bcasts() { preloaded bcasts "$@"; }

# What the library says of the program at its end.
summary() { grep 'stagecast: MPI_Bcast of .* or more' "$WORK/out"; }
# count WORDS: the number before these words in what it says of short messages.
count() { grep -oP "stagecast: MPI_Bcast of 8192 bytes or less.* \K[0-9]+(?= $1)" "$WORK/out"; }

# got CALL PATTERN...: on the six ranks, or on all by one pattern, the call has that result.
got() {
  local call=$1 rank line
  shift
  for rank in 0 1 2 3 4 5; do
    line=$(grep "^$call $rank " "$WORK/out") || { echo "call $call, rank $rank: no result"; return 1; }
    [[ $line == *${1}* ]] || { echo "not '$1': $line"; return 1; }
    [ $# = 1 ] || shift
  done
}

# same NODE PATH SOURCE: the very bytes and time.
same() {
  [ "$(lab on "$1" -u alice bash -c "sha256sum < '$2'; stat -c %y,%a '$2'" < /dev/null)" = "$(cat "$WORK/$3.sum")" ] || {
    echo "$1: $2 is not the source"; lab on "$1" ls -l --full-time "$2"; return 1
  }
}
absent() { ! lab on "$1" -u alice test -e "$2" < /dev/null || { echo "$1: $2 exists"; return 1; }; }

# input NAME BYTES NODE PATH: makes a source, as an old file.
input() {
  lab on "$3" -u alice bash -c "head -c $2 /dev/urandom > '$4'; chmod 640 '$4'; touch -d '2026-01-02 03:04:05.678901' '$4'
    sha256sum < '$4'; stat -c %y,%a '$4'" < /dev/null > "$WORK/$1.sum"
}
put() { lab on "$1" -u alice bash -c "mkdir -p '${2%/*}'; echo $3 > '$2'; touch -d '$4' '$2'" < /dev/null; }
no_temporary() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp -name '.*stagecast*' < /dev/null)" ] || return 1; done
}
no_worker() {
  local node
  for node in "${NODES[@]}"; do ! lab on "$node" pgrep -u alice stagecast-worke > /dev/null < /dev/null || return 1; done
}

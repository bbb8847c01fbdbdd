# Functions of the tests in the virtual machine: a LAN of soft-RoCE hosts, and processes on them.
#
# Host K, from 1, is the interface hK, the RDMA device rxeK and the address 10.77.0.K (tests/vm/rxe-lan). The engine runs as
# in tests/net/engine.bash, without daemon, Slurm or PMIx: host 1 is rank 0, the source; host 2 is rank 1, and on. What the
# process of host K prints is in $WORK/K.out (of the engine a line of JSON), its messages are in $WORK/K.err, its exit code
# in $WORK/K.rc. All run as the user "nobody", of one kernel. The files of a test that fails stay in BUILD/log/vm.
# shellcheck shell=bash

LIMIT=120 # --timeout of a group, seconds: on a busy machine the emulated one stands still now and then

# lan_up N [MTU]: in setup_file. lan_loss K PERCENT: so much of what goes to host K is lost.
lan_up() {
  export LAN=$1
  "$BATS_TEST_DIRNAME/rxe-lan" "$@"
}
lan_loss() {
  tc -n switch qdisc del dev "b$1" root 2>/dev/null || true
  [ "$2" = 0 ] || tc -n switch qdisc add dev "b$1" root netem loss "$2%" limit 100000
}
lan_lossless() {
  local k
  for ((k = 1; k <= LAN; k++)); do lan_loss "$k" 0; done
}
# lan_lost K: packets to host K that were lost.
lan_lost() { tc -n switch -j -s qdisc show dev "b$1" | jq '[.[] | select(.kind == "netem") | .drops] | add // 0'; }

# packets_in K: those of RDMA that host K has received.
packets_in() { cat "/sys/class/infiniband/rxe$1/ports/1/hw_counters/rcvd_pkts"; }

test_begins() {
  WORK=$(mktemp -d /tmp/test.XXXXXX)
  chmod 755 "$WORK"
  dmesg --clear
}

test_ends() {
  local kept=$STAGECAST_VM_RESULTS/${BATS_TEST_FILENAME##*/}.$BATS_TEST_NUMBER one
  pkill -KILL -u nobody || true
  wait
  lan_lossless
  if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
    dmesg >"$WORK/kernel.err"
    for one in "$WORK"/*.{out,err,rc}; do [ ! -s "$one" ] || tail -n 20 "$one" | sed "s,^,# ${one##*/}: ," | cut -c 1-400; done
    rm -rf "$kept"
    cp -r "$WORK" "$kept"
  fi
  rm -rf "$WORK"
}

# wait_for SECONDS COMMAND...
wait_for() {
  local until=$((SECONDS + $1))
  shift
  while [ "$SECONDS" -lt "$until" ]; do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  "$@" >/dev/null 2>&1
}

# starts K COMMAND...: host K's process, in the background. ended K...: those of these hosts have.
starts() {
  local k=$1
  shift
  rm -f "$WORK/$k.rc"
  (
    rc=0
    setpriv --reuid "nobody" --regid nogroup --clear-groups timeout -k 5 $((LIMIT + 15)) "$@" \
      </dev/null >"$WORK/$k.out" 2>"$WORK/$k.err" || rc=$?
    echo $rc >"$WORK/$k.rc"
  ) 3>&- &
}
rc_of() { cat "$WORK/$1.rc"; }
ended() {
  local k
  for k; do [ -s "$WORK/$k.rc" ] || return 1; done
}

# engine_up N [MTU]: a LAN, and the worker where "nobody" can run it wherever it was built. (Its first start reads it from
# the host's disk, which may take longer than LIMIT.)
engine_up() {
  lan_up "$@"
  export WORKER=/run/stagecast-worker
  [ -e $WORKER ] || { touch $WORKER && mount --bind "$BUILD/stagecast-worker" $WORKER; } || return
  install -m 755 "$BATS_TEST_DIRNAME/../net/member.py" /run/member.py
  $WORKER --version
}

# source_file BYTES: what the next group distributes.
source_file() {
  head -c "$1" /dev/urandom >"$WORK/source"
  seq -f '10.77.0.%g' "$LAN" >"$WORK/hosts"
  head -c 32 /dev/urandom >"$WORK/key"
  chmod 600 "$WORK/key"
  chown nobody:nogroup "$WORK/key"
  mkdir -p -m 1777 "$WORK/here"
}

# launcher RANK: the words before the worker's own. PORT= is another group's.
launcher() { echo "/run/member.py --hosts=$WORK/hosts --rank=$1 --key-file=$WORK/key --port=${PORT:-6830}"; }

# engine K ARGS...: starts host K's process; K.b is a second one. group ARGS...: the source on host 1, a receiver on every other.
engine() {
  local k=$1
  shift
  # shellcheck disable=SC2046  # words
  starts "$k" $(launcher $((${k%.b} - 1))) $WORKER --interface="h${k%.b}" --timeout=$LIMIT "$@"
}
group() {
  local k
  for ((k = 2; k <= LAN; k++)); do engine "$k" --dest="$WORK/here/$k" "$@"; done
  engine 1 --source="$WORK/source" "$@"
}
ends() { wait_for $((LIMIT + 25)) ended $(seq "$LAN") || { echo "some host never ended"; return 1; }; }

# Every receiver ended well and has the very bytes.
received() {
  local k
  for ((k = 1; k <= LAN; k++)); do [ "$(rc_of "$k")" = 0 ] || { echo "host $k: exit code $(rc_of "$k")"; return 1; }; done
  for ((k = 2; k <= LAN; k++)); do cmp "$WORK/source" "$WORK/here/$k" || return; done
}

# json K NAME; says K PATTERN
json() { jq -r ".$2" "$WORK/$1.out"; }
says() { grep -Eq -- "$2" "$WORK/$1.err" || { echo "host $1 does not say '$2'"; return 1; }; }

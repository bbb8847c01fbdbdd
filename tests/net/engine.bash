# Functions that run the engine alone on emulated hosts.
#
# One stagecast-worker per emulated host, no daemon, no Slurm, no PMIx: stagecast-worker
# --source=PATH|--dest=PATH, with tests/net/member.py for its launcher. Hosts n0 (rank 0, the source)
# and on; "login" is an unauthorised peer. The output of host nK is in $WORK/nK.json, its messages in
# $WORK/nK.err, its exit code in $WORK/nK.rc.
# shellcheck shell=bash
# shellcheck disable=SC2154  # T, WORK, NODES come from test_begins

load ../cluster/lib/cluster

WORKER=/srv/stagecast/libexec/stagecast/stagecast-worker
LIMIT=30   # --timeout of every group
INTERFACE=eth0

engine_up() {
  cluster_up "$@" --hosts || return 1
  install -m 755 "$CLUSTER_TESTS"/attack/*.py "$CLUSTER_TESTS/../net/member.py" "$CLUSTER_DIR/srv/"
}

engine_begins() {
  local i
  test_begins
  for ((i = 0; i < CLUSTER_SIZE; i++)); do echo "10.77.1.$((i + 1))"; done > "$WORK/hosts"
  head -c 32 /dev/urandom > "$WORK/key"
  chown 2001:2001 "$WORK/key"
  chmod 600 "$WORK/key"
  STARTED=()
}

# Hosts have no jobs and no node states: only what is left behind counts.
engine_ends() {
  local clean=yes node
  for node in "${NODES[@]}"; do lab on "$node" bash -c 'rm -f /tmp/*.copy; pkill -KILL -u alice stagecast-worke; true'; done
  wait_for 10 residue_none || { echo "# left behind:"; residue_show; clean=no; }
  # What killed workers left must not fail the tests after this one.
  for node in "${NODES[@]}"; do lab on "$node" bash -c 'rm -rf /tmp/.*.stagecast.*'; done
  if [ -z "${BATS_TEST_COMPLETED:-}" ]; then grep -H . "$WORK"/*.{json,err,rc} 2>/dev/null | sed 's/^.*\//# /' | cut -c 1-400; fi
  rm -rf "$WORK"
  [ "$clean" = yes ]
}

source_file() { head -c "$1" /dev/urandom > "$WORK/source"; chown 2001:2001 "$WORK/source"; }

# launcher NODE [KEY]: the words before the worker's own.
launcher() { echo "/srv/member.py --hosts=$T/hosts --rank=${1#n} --key-file=${2:-$T/key}"; }

# engine NODE ARGS...: starts this host's process. KEY= names another key.
engine() {
  local node=$1
  shift
  STARTED+=("$node")
  (
    rc=0
    # shellcheck disable=SC2046  # words
    lab on "$node" -u alice -d "$T" timeout -k 5 $((LIMIT + 15)) $(launcher "$node" "${KEY:-}") "$WORKER" \
      --interface="$INTERFACE" --timeout="$LIMIT" "$@" \
      < /dev/null > "$WORK/$node.json" 2> "$WORK/$node.err" || rc=$?
    echo "$rc" > "$WORK/$node.rc"
  ) 3>&- &
}

# group ARGS...: the source on n0, a receiver on every other host.
group() {
  local node
  for node in "${NODES[@]:1}"; do engine "$node" --dest=/tmp/received.copy "$@"; done
  engine n0 --source="$T/source" "$@"
}

all_ended() {
  local node
  for node in "${STARTED[@]}"; do [ -s "$WORK/$node.rc" ] || return 1; done
}
ends() { wait_for $((LIMIT + 25)) all_ended || { echo "some host never ended"; return 1; }; }

rc_of() { cat "$WORK/$1.rc"; }

# json NODE KEY
json() { python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read())[sys.argv[2]])' "$WORK/$1.json" "$2"; }

# Every receiver (or those named) ended well and holds the very bytes.
received() {
  local node want
  want=$(sha256sum < "$WORK/source")
  [ $# -gt 0 ] || set -- "${NODES[@]:1}"
  for node; do
    [ "$(rc_of "$node")" = 0 ] || { echo "$node: rc $(rc_of "$node")"; return 1; }
    [ "$(lab on "$node" sha256sum < /dev/null -- /tmp/received.copy | cut -c 1-64)  -" = "$want" ] || {
      echo "$node: not the source's bytes"; return 1
    }
  done
}

# No host ended well, all within the time; a message on NODE's stderr matches PATTERN.
all_fail() {
  local node
  for node in "${STARTED[@]}"; do
    case $(rc_of "$node") in 0 | 124 | 137) echo "$node: rc $(rc_of "$node")"; return 1 ;; esac
    [ -s "$WORK/$node.err" ] || { echo "$node: no sentence"; return 1; }
  done
}

says() { grep -Eq -- "$2" "$WORK/$1.err" || { echo "$1 does not say '$2':"; cat "$WORK/$1.err"; return 1; }; }

# No host held more than 64 MB for itself: own memory, and what waited in its sockets.
stayed_small() {
  local node held
  for node in "${STARTED[@]}"; do
    held=$(($(json "$node" memory_own) + $(json "$node" memory_sockets)))
    [ "$held" -gt 0 ] && [ "$held" -le $((64 << 20)) ] || { echo "$node held $held bytes"; return 1; }
  done
}

# Neither the file nor a temporary one.
absent() { [ -z "$(lab on "$1" find /tmp -name '*received.copy*')" ]; }

# In the network namespace that holds the switches and their ports, p0-n0 and on.
in_switch() { nsenter --target "$(cat "$CLUSTER_DIR/cluster.pid")" --net -- "$@"; }

# The group's address and port as any local user of HOST can see them.
group_seen() {
  GROUP=$(lab on "$1" awk 'length($1) == 8 && $1 ~ /^[0-9A-F]+$/ && $1 != "010000E0" { print $1; exit }' /proc/net/igmp)
  [ -n "$GROUP" ] || return 1
  GROUP=$(printf '%d.%d.%d.%d' "0x${GROUP:6:2}" "0x${GROUP:4:2}" "0x${GROUP:2:2}" "0x${GROUP:0:2}")
  PORTS=$(lab on "$1" ss -Huan | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u | tr '\n' ' ')
}

capture() {   # HOST: all its link carries, until engine_ends
  lab on "$1" tcpdump -i eth0 -U -s 0 -w - udp < /dev/null > "$WORK/$1.pcap" 2> "$WORK/$1.tcpdump" 3>&- &
  wait_for 10 grep -q 'listening on' "$WORK/$1.tcpdump"
}

no_tcpdump() { ! lab on "$1" pgrep tcpdump; }

# For a relay, which relay() of the test file starts.
listens() { lab on "$1" bash -c 'ss -Hltn "sport >= 6831" | grep -q .'; }
address_of() { echo "10.77.1.$((${1#n} + 1))"; }
is_child_of() {
  lab on "$1" bash -c "ss -Htn state established '( dst $(address_of "$2") and dport >= :6831 and dport <= :6893 )' | grep -q ."
}

# each_protection BYTES: a relay under each protection, and one of nothing.
each_protection() {
  local protection
  for protection in encrypt auth none; do
    source_file "$1"
    relay --protection=$protection
    ends
    received
    rm -f "$WORK"/n*.rc
    STARTED=()
  done
  source_file 0
  relay
  ends
  received
}

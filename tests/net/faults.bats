# Tests that the engine repairs what real sockets lose, duplicate, damage and reorder, by a
# seed.
#
# faulty-worker is the engine with a driver around its own that does so to what a member sends:
# at the source to multicast packets, at the others to requests and answers.

bats_require_minimum_version 1.5.0
load engine

setup_file() {
  engine_up 5 --rate 200mbit
  install -m 755 "${STAGECAST_BUILD:-$CLUSTER_TESTS/../../build}/faulty-worker" "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

# misbehave FAULTS ARGS...: a group of which every member sends so.
misbehave() {
  printf '#!/bin/sh\nexec /srv/faulty-worker %s "$@"\n' "$1" > "$CLUSTER_DIR/srv/misbehaving"
  chmod 755 "$CLUSTER_DIR/srv/misbehaving"
  WORKER=/srv/misbehaving
  shift
  source_file 20000000
  group --rate-max=100mbit "$@"
  ends
  received
}

# did NODE WORD LEAST: the node's driver did it at least so often.
did() {
  local count
  count=$(sed -n "s/^faults: .*$2 \([0-9]*\).*/\1/p" "$WORK/$1.err")
  [ "${count:-0}" -ge "$3" ] || { echo "$1: $2 only ${count:-0} times"; return 1; }
}

@test "1 % lost on the way out of the source, for all alike" {
  misbehave seed=1,drop=10000
  did n0 dropped 60
  [ "$(json n1 packets_lost)" -gt 0 ]
}

@test "bursts of 50 packets, 1 % in the mean" {
  misbehave seed=2,drop=200,burst=50
  did n0 dropped 50
}

@test "5 % overtaken by twenty others" {
  misbehave seed=3,reorder=50000,hold=20
  did n0 reordered 300
}

@test "5 % doubled" {
  misbehave seed=4,duplicate=50000
  did n0 duplicated 300
}

@test "1 % with one bit turned: none of it is believed, under each protection" {
  local protection
  for protection in encrypt auth none; do
    rm -f "$WORK"/n*.rc
    STARTED=()
    misbehave seed=5,corrupt=10000 --protection="$protection"
    did n0 corrupted 60
    [ "$(json n1 packets_rejected)" -ge 30 ]
  done
}

@test "all of it at once" {
  misbehave seed=6,drop=2000,burst=5,duplicate=10000,corrupt=5000,reorder=20000,hold=30
  did n0 dropped 20
  did n0 reordered 100
}

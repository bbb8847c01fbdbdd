# Tests that all hosts end in time, report the reason and leave no partial file when a host
# fails.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 5 --rate 100mbit; LIMIT=15; }
teardown_file() { cluster_down; }
setup() { engine_begins; LIMIT=15; }
teardown() { engine_ends; }

receiving() { lab on "$1" bash -c 'ls /tmp/.*.stagecast.* && [ "$(ss -Huan | wc -l)" -gt 0 ]'; }

@test "a destination directory that is not there" {
  source_file 3000000
  local node
  for node in n1 n2 n4; do engine "$node" --dest=/tmp/received.copy; done
  engine n3 --dest=/nowhere/received.copy
  engine n0 --source="$T/source"
  ends
  all_fail
  says n3 '/nowhere.*No such file or directory'
  says n0 '/nowhere.*No such file or directory'
  absent n1
  absent n3
}

@test "a source that is not there" {
  group
  ends
  all_fail
  says n0 'source.*No such file or directory'
  absent n1
}

# A user of its own: a user's processes on all hosts count.
@test "a receiver, or the source, whose user may have no second process" {
  local limited node args
  source_file 300000
  install -m 644 "$WORK/source" "$CLUSTER_DIR/srv/"
  for limited in n3 n0; do
    for node in "${NODES[@]}"; do
      if [ "$node" = n0 ]; then args=--source=/srv/source; else args=--dest=/tmp/received.copy; fi
      if [ "$node" = "$limited" ]; then limited_engine "$node" "$args"; else engine "$node" "$args"; fi
    done
    ends
    all_fail
    [ "$(rc_of "$limited")" = 71 ]
    says "$limited" "can't start a thread; does the user have too many processes.*ulimit -u"
    absent "$limited"
    STARTED=()
    rm -f "$WORK"/*.rc
  done
}
# As engine(), with a limit of one process or thread.
limited_engine() {
  local node=$1
  STARTED+=("$node")
  (
    rc=0
    # shellcheck disable=SC2046  # words
    lab on "$node" $(launcher "$node") setpriv --reuid 39999 --regid 39999 --clear-groups bash -c 'ulimit -u 1; exec "$@"' - \
      "$WORKER" --interface="$INTERFACE" --timeout="$LIMIT" "$2" < /dev/null > "$WORK/$node.json" 2> "$WORK/$node.err" || rc=$?
    echo "$rc" > "$WORK/$node.rc"
  ) 3>&- &
}

@test "a receiver killed in the middle" {
  source_file 60000000   # 5 s at 95 Mbit/s
  group --rate-max=95mbit
  wait_for 10 receiving n3
  lab on n3 pkill -KILL -u alice stagecast-worke
  ends
  local node
  for node in n0 n1 n2 n4; do
    [ "$(rc_of "$node")" != 0 ]
    [ "$(rc_of "$node")" != 124 ]
    says "$node" '10\.77\.1\.4|rank 3|n3'
  done
  # What is there under the final name is whole.
  for node in n1 n2 n4; do
    absent "$node" || [ "$(lab on "$node" sha256sum /tmp/received.copy | cut -c 1-64)" = "$(sha256sum < "$WORK/source" | cut -c 1-64)" ]
  done
  lab on n3 bash -c 'rm -f /tmp/.*.stagecast.*'   # a killed process cannot
}

# The links of the source and of a receiver, one after the other; both send all the time.
@test "an interface that is down for a moment" {
  source_file 60000000
  group --rate-max=95mbit
  wait_for 10 receiving n3
  local node
  for node in n0 n3; do
    lab on "$node" bash -c 'ip link set eth0 down; sleep 0.3; ip link set eth0 up'
    sleep 0.5
  done
  ends
  received
}

@test "the source killed in the middle" {
  source_file 60000000
  group --rate-max=95mbit
  wait_for 10 receiving n1
  lab on n0 pkill -KILL -u alice stagecast-worke
  ends
  local node
  for node in "${NODES[@]:1}"; do
    [ "$(rc_of "$node")" != 0 ]
    [ "$(rc_of "$node")" != 124 ]
    absent "$node"
  done
}

@test "a full destination" {
  lab on n2 bash -c 'mkdir -p /tmp/small && mount -t tmpfs -o size=1m,mode=1777 small /tmp/small'
  source_file 5000000
  local node
  for node in n1 n3 n4; do engine "$node" --dest=/tmp/received.copy; done
  engine n2 --dest=/tmp/small/received.copy
  engine n0 --source="$T/source"
  ends
  all_fail
  says n2 'small.*No space left on device'
  says n0 'No space left on device'
  [ -z "$(lab on n2 find /tmp/small -mindepth 1)" ]
  lab on n2 bash -c 'umount /tmp/small && rmdir /tmp/small'
  absent n1
}

@test "a source that shrinks while it is read" {
  source_file 60000000
  group --rate-max=95mbit
  wait_for 10 receiving n1
  truncate -s 30000000 "$WORK/source"
  ends
  all_fail
  says n0 'source'
  absent n1
}

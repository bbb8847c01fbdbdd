# Tests that the virtual machine has what the tests of verbs rest on: soft-RoCE, multicast and loss.

bats_require_minimum_version 1.5.0
load vm

setup_file() { lan_up 3; }
setup() { test_begins; }
teardown() { test_ends; }

# A process that prints datagrams of 4096 bytes received, by UD multicast: mckey of rdmacm-utils.
listens() { starts "$1" stdbuf -oL mckey -m 239.1.2.3 -b "10.77.0.$1" -S 4096 -C "$2"; }
sends() { starts "$1" mckey -s -m 239.1.2.3 -b "10.77.0.$1" -S 4096 -C "$2"; }
joined() { grep -q 'joined dgid' "$WORK/$1.out"; }

# multicast DATAGRAMS: from host 1 to hosts 2 and 3. BEFORE: what these had received before.
multicast() {
  local k
  for k in 2 3; do
    listens $k "$1"
    wait_for 60 joined $k
    BEFORE[k]=$(packets_in $k)
  done
  sends 1 "$1"
  wait_for 60 ended 1
  [ "$(rc_of 1)" = 0 ]
}
since() { echo $(($(packets_in "$1") - BEFORE[$1])); }

@test "three devices are active, and their datagrams have up to 4096 bytes" {
  local k
  for k in 1 2 3; do
    [ "$(cat /sys/class/infiniband/rxe$k/ports/1/state)" = "4: ACTIVE" ]
    ibv_devinfo -d rxe$k | grep -E 'active_mtu:\s+4096 '
  done
}

@test "datagrams of one multicast arrive at two receivers, over their links" {
  multicast 100
  wait_for 60 ended 2 3
  [ "$(rc_of 2)" = 0 ] && [ "$(rc_of 3)" = 0 ]
  [ "$(since 2)" = 100 ] && [ "$(since 3)" = 100 ]
}

@test "what a link loses does not arrive there, and arrives elsewhere" {
  accounted_for() { [ $(($(since 2) + $(lan_lost 2))) -ge 300 ]; }
  lan_loss 2 30
  multicast 300
  wait_for 60 ended 3
  [ "$(rc_of 3)" = 0 ] && [ "$(since 3)" = 300 ]
  wait_for 60 accounted_for
  [ "$(since 2)" -lt 300 ] && [ "$(since 2)" -gt 0 ]
  ! ended 2
}

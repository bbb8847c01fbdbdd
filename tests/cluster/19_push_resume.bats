# Tests that `stagecast push --resume` continues an interrupted push and verifies everything that is there.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() { cluster_up 4 --cpus 2 --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0 --stagecast ConnectTimeout=2; }
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { push_ends; }

BYTES=60000000
PART=/var/tmp/images/.image.stagecast.part

# A file that was changed a moment ago is not known again.
is_old() { [ "$(($(date +%s) - $(stat -c %Z "$WORK/$1")))" -ge 4 ]; }
old_input() {
  input "$@"
  wait_for 10 is_old "$1"
}

# came_to NODE BYTES: waits until its partial file has BYTES, by its checkpoint.
came_to() {
  lab on "$1" bash -c 'test -e "$0" && n=$(tail -c +'$((BYTES + 57))' "$0" | xxd -p -c 16 | grep -vc "^0*$") && [ "$((n * 1048576))" -ge "$1" ]' "$PART" "$2"
}

# push_until BYTES COMMAND...: a push of image that is broken off by COMMAND when n2 has so much.
push_until() {
  local bytes=$1
  shift
  lab on n0 -d "$T" bash -c '/srv/stagecast/bin/stagecast push -w "n[0-3]" --resume --rate=80mbit image /var/tmp/images/ > said 2>&1 &
    echo $! > push.pid; wait $!; echo $? > rc' &
  wait_for 30 came_to n2 "$bytes"
  "$@"
  wait $!
}
# interrupt [PATH]: the source stands still until then, so that the push to PATH is under way.
interrupt() {
  source_worker STOP
  ! lab on n2 test -e "${1:-/var/tmp/images/image}" || { echo "n2 has the whole file already"; return 1; }
  lab on n0 bash -c "kill -INT \$(cat $T/push.pid)"
  source_worker CONT || true
}
source_worker() { lab on n0 pkill "-$1" -u root -x stagecast-worke; }
kill_worker() { lab on "$1" pkill -KILL -u root -x stagecast-worke; }
no_worker_runs() {
  local node
  for node in "${NODES[@]}"; do ! lab on "$node" pgrep -u root -x stagecast-worke > /dev/null || return 1; done
}

# sent: packets that the source sent in its last stage, all of them.
sent() { log_since stagecastd-n0 | sed -n 's/.*worker left .*packets_sent=\([0-9]*\).*/\1/p' | tail -n 1; }
left_n0() { [ "$(log_since stagecastd-n0 | grep -c 'worker left ')" -ge "$1" ]; }
# resumed [NODES]: the push again, to its end; SENT is what the source sent.
resumed() {
  local before
  wait_for 20 no_worker_runs
  before=$(log_since stagecastd-n0 | grep -c 'worker left ' || true)
  push n0 -w "${1:-n[0-3]}" --resume image /var/tmp/images/ || { cat "$WORK/said"; return 1; }
  wait_for 10 left_n0 "$((before + 1))"
  SENT=$(sent)
  echo "$SENT of $WHOLE packets"
}
WHOLE=$((BYTES / 1444))

@test "broken off at half, pushed again: the rest is sent, and nothing is left beside it" {
  old_input image "$BYTES"
  push_until 30000000 interrupt
  wait_for 20 no_worker_runs
  [ "$(lab on n1 ls -A /var/tmp/images)" = .image.stagecast.part ]
  [ "$(lab on n1 stat -c %a:%U "$PART")" = 600:root ]
  resumed
  has image n0 n1 n2 n3
  [ "$SENT" -lt "$((WHOLE * 65 / 100))" ]
  [ "$SENT" -gt "$((WHOLE * 20 / 100))" ]
}

@test "a node's worker is killed: the others complete without it, and it goes on the next time" {
  old_input image "$BYTES"
  push_until 30000000 kill_worker n2
  grep -q 'node n2: ' "$WORK/said"
  [ "$(cat "$WORK/rc")" = 1 ]
  has image n0 n1 n3
  # They did so in the same round. (The command ends before its worker has left.)
  wait_for 20 left_n0 1
  echo "$(sent) of $WHOLE packets"
  [ "$(sent)" -lt "$((WHOLE * 125 / 100))" ]
  [ "$(log_since stagecastd-n0 | grep -c 'a push has ended .*rounds=1 ')" = 1 ]
  lab on n2 test -e "$PART"
  resumed n2
  has image n0 n1 n2 n3
  [ "$SENT" -lt "$((WHOLE * 65 / 100))" ]
}

@test "a daemon is killed, and the whole push with it" {
  old_input image "$BYTES"
  push_until 30000000 lab on n0 bash -c 'kill -KILL "$(cat /run/lab/stagecastd.pid)"'
  heal
  resumed
  has image n0 n1 n2 n3
  [ "$SENT" -lt "$((WHOLE * 65 / 100))" ]
}

@test "the source changed meanwhile, with its size and its time: everything again" {
  old_input image "$BYTES"
  touch -d '2020-01-01' "$WORK/image"
  wait_for 10 is_old image
  push_until 30000000 interrupt
  head -c 40000000 /dev/urandom | dd of="$WORK/image" bs=1M conv=notrunc status=none
  touch -d '2020-01-01' "$WORK/image"
  [ "$(stat -c %s "$WORK/image")" = "$BYTES" ]
  wait_for 10 is_old image
  resumed
  has image n0 n1 n2 n3
  [ "$SENT" -gt "$((WHOLE * 95 / 100))" ]
}

@test "a byte of one node's part is spoilt: it is noticed, and only what follows is sent" {
  old_input image "$BYTES"
  push_until 40000000 interrupt
  wait_for 20 no_worker_runs
  lab on n3 bash -c 'printf x | dd of="$0" bs=1 seek=25000000 conv=notrunc 2>/dev/null' "$PART"
  resumed
  has image n0 n1 n2 n3
  [ "$SENT" -gt "$((WHOLE * 50 / 100))" ]
  [ "$SENT" -lt "$((WHOLE * 75 / 100))" ]
}

@test "without --resume nothing stays, and what an earlier one left goes" {
  old_input image "$BYTES"
  push_until 20000000 interrupt
  wait_for 20 no_worker_runs
  lab on n1 test -e "$PART"
  push n0 -w 'n[0-3]' image /var/tmp/images/
  has image n0 n1 n2 n3
  lab on n0 rm /var/tmp/images/image
  lab on n0 -d "$T" bash -c '/srv/stagecast/bin/stagecast push -w "n0,n[2-3]" --rate=80mbit image /var/tmp/images/other > said 2>&1 &
    echo $! > push.pid; wait $!' &
  wait_for 20 lab on n0 bash -c 'ls -A /var/tmp/images | grep -q .'
  interrupt /var/tmp/images/other
  wait $! || true
  wait_for 20 empty_on n0
}

@test "a link to another file in the part's place is not written through" {
  old_input image 3000000
  lab on n1 bash -c 'echo precious > /var/tmp/precious; chmod 600 /var/tmp/precious; ln /var/tmp/precious "$0"' "$PART"
  push n0 -w 'n[0-3]' --resume image /var/tmp/images/
  has image n0 n1 n2 n3
  [ "$(lab on n1 cat /var/tmp/precious)" = precious ]
  lab on n1 rm /var/tmp/precious
}

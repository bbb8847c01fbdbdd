# Tests that without daemons `stagecast push --launcher=` brings a file to the nodes that can be reached, and names the others.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push
load lib/sshd

# The two programs that it takes, and nothing else of ours. n3's sshd is down from the beginning.
setup_file() {
  local build=${STAGECAST_BUILD:-$CLUSTER_TESTS/../../build} to
  cluster_up 4 --bare --cpus 2 --rails 2 --stagecast ConnectTimeout=3
  to=$CLUSTER_DIR/srv/stagecast
  install -D "$build/stagecast" "$to/bin/stagecast"
  install -D "$build/stagecast-worker" "$to/libexec/stagecast/stagecast-worker"
  sshd_keys
  sshd_start n0 n1 n2
}
teardown_file() { cluster_down; }
setup() {
  local node
  test_begins
  for node in "${NODES[@]}"; do lab on "$node" -u alice mkdir -p /var/tmp/images; done
}
teardown() {
  local node
  rm -f "$ALICE/.bashrc"
  for node in "${NODES[@]}"; do lab on "$node" bash -c 'umount /var/tmp/images 2>/dev/null; rm -rf /var/tmp/images'; done
  test_ends
}

# push USER NODE ARGS..., not as root alone: the words are in $WORK/said, what it prints for programs in $WORK/out; RC is its exit code.
push() {
  local user=$1 node=$2
  shift 2
  RC=0
  lab on "$node" -u "$user" -d "$T" timeout -k 5 60 /srv/stagecast/bin/stagecast push "$@" \
    > "$WORK/out" 2> "$WORK/said" || RC=$?
  cat "$WORK/out" "$WORK/said"
}

@test "ssh, clush: as alice, a node that is not there is named, the others have it" {
  local launcher node
  for launcher in ssh clush; do
    input "image.$launcher" 5000000
    push alice n0 --launcher="$launcher" -w 'n[0-3]' "image.$launcher" /var/tmp/images/
    [ "$RC" = 1 ]
    grep -q 'node n3: .*Connection refused' "$WORK/said"
    grep -q '3 of 4 nodes have /var/tmp/images/' "$WORK/out"
    has "image.$launcher" n0 n1 n2
    empty_on n3
    for node in n0 n1 n2; do lab on "$node" rm "/var/tmp/images/image.$launcher"; done
  done
}

@test "clush: the user's colours and time limit change nothing" {
  input image 20000000
  install -d -o 2001 -g 2001 "$ALICE/.config" "$ALICE/.config/clustershell"
  printf '[Main]\ncolor: always\ncommand_timeout: 1\n' > "$ALICE/.config/clustershell/clush.conf"
  push alice n0 --launcher=clush --rate=80mbit -w 'n[0-2]' image /var/tmp/images/
  rm -r "$ALICE/.config"
  [ "$RC" = 0 ]
  has image n0 n1 n2
}

@test "srun: a line of more than 1024 bytes, which it cuts, is one line" {
  truncate -s 80000000 "$WORK/sparse"
  local i
  for i in {1..60}; do echo "$i" | dd of="$WORK/sparse" bs=1M seek="$i" conv=notrunc status=none; done
  chmod 644 "$WORK/sparse"
  push root n0 --launcher=srun -w 'n[1-2]' sparse /var/tmp/images/
  [ "$RC" = 0 ]
  has sparse n1 n2
}

@test "srun: as alice in a job, as root beside it; a node that Slurm calls down is named" {
  input image 3000000
  chmod 644 "$WORK/image"
  lab exec scontrol update nodename=n2 state=down reason=test
  push alice n0 --launcher=srun --interface=eth0 -w 'n[0-2]' image /var/tmp/images/
  lab exec scontrol update nodename=n2 state=resume
  [ "$RC" = 1 ]
  grep -q 'node n2: Slurm reports down' "$WORK/said"
  has image n0 n1
  wait_for 20 nodes_idle
  lab on n1 rm /var/tmp/images/image
  submit -N2 -w n0,n1 --exclusive --wrap 'sleep 60'
  wait_for 20 running "$JOB"
  push root n0 --launcher=srun --interface=eth0 -w 'n[0-1]' image /var/tmp/images/
  [ "$RC" = 0 ]
  lab exec scancel "$JOB"
  has image n0 n1
}
running() { [ "$(job_field "$1" JobState)" = RUNNING ]; }

@test "a disk that is full and a place that is not there: each is named, the rest have it" {
  input image 5000000
  disk_full n1 /var/tmp/images
  lab on n2 rmdir /var/tmp/images
  push alice n0 --launcher=ssh -w 'n[0-2]' --json image /var/tmp/images/image
  [ "$RC" = 1 ]
  [ "$(jq -r '.failed[].node' "$WORK/out" | sort | tr '\n' ' ')" = 'n1 n2 ' ]
  jq -r '.failed[] | select(.node == "n1").why' "$WORK/out" | grep -q 'No space left on device'
  [ "$(jq .done "$WORK/out")" = 1 ]
  [ "$(jq .bytes "$WORK/out")" = 5000000 ]
  python3 "$CLUSTER_TESTS/lib/schema.py" push "$WORK/out"
  [ "$(jq .rounds "$WORK/out")" = 1 ]   # No node waited for data before the failure was known.
  has image n0
  push alice n0 --launcher=ssh -w 'n[0-1]' --dry-run image /var/tmp/images/image
  [ "$RC" = 1 ]
  grep -q 'node n1: .*No space left on device' "$WORK/said"
  push alice n0 --launcher=ssh -w n1 --json -c /nowhere.conf image /var/tmp/images/image
  [ "$RC" = 78 ]
  [ ! -s "$WORK/out" ]
  push alice n0 --launcher=clush -w n1 --json image /var/tmp/images/image
  [ "$RC" = 2 ]
  [ "$(jq .rounds "$WORK/out")" = 0 ]
}

@test "closed data ports: all of those are named in one round, and the source stays the source" {
  local node
  input image 3000000
  chmod 644 "$WORK/image"
  for node in n1 n2; do unreachable "$node" udp; done
  push alice n0 --launcher=ssh --interface=eth0 -w 'n[0-2]' --json image /var/tmp/images/
  [ "$RC" = 1 ]
  [ "$(jq -r '.failed[].node' "$WORK/out" | tr '\n' ' ')" = 'n1 n2 ' ]
  [ "$(jq .rounds "$WORK/out")" = 1 ]
  push alice n0 --launcher=srun --interface=eth0 -w 'n[0-3]' --json image /var/tmp/images/
  for node in n1 n2; do reachable "$node"; done
  [ "$RC" = 1 ]
  [ "$(jq -r '.failed[].node' "$WORK/out" | sort | tr '\n' ' ')" = 'n1 n2 ' ]
  jq -r '.failed[].why' "$WORK/out" | grep -q 'open the data ports'
  [ "$(jq .rounds "$WORK/out")" = 2 ]
  has image n0 n3
  empty_on n1 n2
  wait_for 20 nodes_idle
}

@test "verified: the same, another, none, no node there" {
  local launcher
  input image 3000000
  chmod 644 "$WORK/image"
  push alice n0 --launcher=ssh -w 'n[0-2]' image /var/tmp/images/
  [ "$RC" = 0 ]
  for launcher in ssh clush srun; do
    push alice n0 --launcher=$launcher --interface=eth0 --verify -w 'n[0-2]' image /var/tmp/images/
    [ "$RC" = 0 ]
    grep -q '3 of 3 nodes have the same /var/tmp/images/ (3.0 MB' "$WORK/out"
  done
  lab on n1 bash -c 'printf x | dd of=/var/tmp/images/image bs=1 seek=1500000 conv=notrunc status=none'
  lab on n2 rm /var/tmp/images/image
  # Who may only read can compare.
  lab on n1 chmod 555 /var/tmp/images
  push alice n0 --launcher=ssh --verify -w 'n[0-3]' image /var/tmp/images/
  [ "$RC" = 1 ]
  lab on n1 chmod 755 /var/tmp/images
  grep -q 'node n1: the content there differs from the source' "$WORK/said"
  grep -q 'node n2: .*No such file or directory' "$WORK/said"
  grep -q 'node n3: .*Connection refused' "$WORK/said"
  grep -q '1 of 4 nodes have the same' "$WORK/out"
  push alice n0 --launcher=ssh --verify -w 'n[1-2]' image /var/tmp/images/
  [ "$RC" = 1 ]
  wait_for 20 nodes_idle
}

@test "only looked at, nothing to send, asked without sense" {
  local launcher
  input image 1000
  push alice n0 --launcher=ssh -w 'n[0-2]' --dry-run image /var/tmp/images/
  [ "$RC" = 0 ]
  grep -q '3 of 3 nodes could take' "$WORK/out"
  empty_on n0 n1 n2
  push alice n0 --launcher=ssh -w 'n[0-2]' nowhere /var/tmp/images/
  [ "$RC" = 2 ]
  grep -q '/nowhere: No such file' "$WORK/said"
  push alice n0 --launcher=ssh -w n3,n99 image /var/tmp/images/
  [ "$RC" = 2 ]
  grep -q 'node n99: its address is not known' "$WORK/said"
  for launcher in rsh pdsh; do   # pdsh passes no input to the nodes
    push alice n0 --launcher=$launcher -w n1 image /var/tmp/images/
    [ "$RC" = 64 ]
  done
  empty_on n0 n1 n2
}

# before_card NODE COMMAND: what alice's login shell does there before it starts a member.
before_card() {
  printf 'case $(hostname):$BASH_EXECUTION_STRING in %s:*--members=*) %s ;; esac\n' "$1" "$2" > "$ALICE/.bashrc"
}

# named NODE WORDS: a push to n0, n1 and n2 names that node, and the others have the image.
named() {
  local node
  [ "$RC" = 1 ]
  [ "$(jq -r '.failed[].node' "$WORK/out")" = "$1" ]
  jq -r '.failed[].why' "$WORK/out" | grep -qE "$2"
  [ "$(jq .rounds "$WORK/out")" = 2 ]
  for node in n0 n1 n2; do
    [ "$node" = "$1" ] || { has image "$node" && lab on "$node" rm /var/tmp/images/image; }
  done
  empty_on "$1"
}

@test "before its card: a banner changes nothing; a shell that ends, lies or hangs is named, the others go on" {
  local launcher
  input image 3000000
  before_card 'n[0-2]' 'printf "welcome\nhere: stagecast-card 0100 > "'
  for launcher in ssh clush; do
    push alice n0 --launcher=$launcher -w 'n[0-2]' image /var/tmp/images/
    [ "$RC" = 0 ]
    has image n0 n1 n2
    lab on n1 rm /var/tmp/images/image
  done
  lab on n0 rm /var/tmp/images/image
  lab on n2 rm /var/tmp/images/image
  before_card n1 'exit 3'
  push alice n0 --launcher=ssh -w 'n[0-2]' --json image /var/tmp/images/
  named n1 'ended without sending its business card'
  before_card n2 'echo stagecast-card 0100; exec sleep 5'
  push alice n0 --launcher=ssh -w 'n[0-2]' --json image /var/tmp/images/
  named n2 'card is not acceptable.*install the same release'
  for launcher in ssh clush; do
    before_card n2 'exec sleep 27'
    push alice n0 --launcher=$launcher -w 'n[0-2]' --json image /var/tmp/images/
    named n2 'sent no business card within 9 s; is the node overloaded'
  done
}

@test "the group goes by the site's Interface=, wherever the names lead" {
  local before
  input image 5000000
  lab on n0 sed 's/^Interface=.*/Interface=eth1/' /etc/stagecast/stagecast.conf > "$WORK/site.conf"
  before=$(bytes_by eth1)
  push alice n0 --launcher=ssh -c "$T/site.conf" -w 'n[0-2]' image /var/tmp/images/
  [ "$RC" = 0 ]
  has image n0 n1 n2
  echo "$(($(bytes_by eth1) - before)) bytes"
  [ "$(($(bytes_by eth1) - before))" -gt 5000000 ]
}
bytes_by() { lab on n0 cat "/sys/class/net/$1/statistics/tx_bytes"; }

@test "a tree; and broken off in the middle nothing stays; meanwhile no command line has a key" {
  local node
  install -d -o 2001 -g 2001 "$WORK/tree/a"
  input tree/a/data 300000
  push alice n0 --launcher=ssh -w 'n[1-2]' tree /var/tmp/images/tree
  [ "$RC" = 0 ]
  [ "$(lab on n2 sha256sum /var/tmp/images/tree/a/data | cut -c 1-64)" = "$(sha256sum < "$WORK/tree/a/data" | cut -c 1-64)" ]
  lab on n1 rm -r /var/tmp/images/tree
  lab on n2 rm -r /var/tmp/images/tree
  input image 100000000
  lab on n0 -u alice -d "$T" bash -c '/srv/stagecast/bin/stagecast push --launcher=ssh -w "n[1-2]" --rate=40mbit image /var/tmp/images/ \
    > broken.said 2>&1 & echo $! > push.pid; wait $!; echo $? > rc' &
  wait_for 20 lab on n2 bash -c 'ls -A /var/tmp/images | grep -q .'
  for node in n0 n1 n2; do lab on "$node" bash -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "' > "$WORK/lines.$node"; done
  lab on n0 bash -c "kill -INT \$(cat $T/push.pid)"
  wait $!
  [ "$(cat "$WORK/rc")" = 2 ] || { cat "$WORK/broken.said"; false; }
  wait_for 15 empty_on n1 n2
  for node in n0 n1 n2; do
    grep -q -- "--members=" "$WORK/lines.$node" || { echo "$node:"; cat "$WORK/lines.$node"; false; }
    run ! grep -qE '[0-9a-f]{64}' "$WORK/lines.$node"
  done
  run ! grep -qE 'stagecast-(key|table)' "$WORK/broken.said"
}

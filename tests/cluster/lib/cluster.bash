# Setup and teardown of every cluster test.
#
# A file's tests share one cluster (setup_file: cluster_up N ...). After each test the cluster must
# look as it did when it came up: that check is part of the test, and so are the daemons' logs when it fails.
# shellcheck shell=bash

CLUSTER_TESTS=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
LAB=$CLUSTER_TESTS/lab
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH   # Debian's own python3 before a user's
NODES=()
# Bats forgets what the environment says of this; a run by hand repeats nothing.
export BATS_TEST_RETRIES=${STAGECAST_TEST_RETRIES:-0}

lab() { "$LAB" --name "$CLUSTER" "$@"; }

# cluster_up N [options of lab up]
cluster_up() {
  local node
  export CLUSTER CLUSTER_SIZE=$1 CLUSTER_DIR=''
  CLUSTER=t$$-$RANDOM
  lab up "$@" --owner "${STAGECAST_TESTS_OWNER:-$$}" || return 1
  cp "$CLUSTER_TESTS/lib/residue.py" "$CLUSTER_TESTS/lib/rank.sh" "$(lab path)/srv/"
  export ALICE
  CLUSTER_DIR=$(lab path)
  ALICE=$CLUSTER_DIR/home/alice
  cluster_nodes
  # Spares start after "ready": the baseline is taken when two looks in a row agree.
  wait_for 20 residue_settled
  for node in "${NODES[@]}"; do cp "$CLUSTER_DIR/log/residue-$node.now" "$CLUSTER_DIR/log/residue-$node.start"; done
}

cluster_down() { [ -z "${CLUSTER:-}" ] || lab down; }

cluster_nodes() {
  local i
  NODES=()
  for ((i = 0; i < CLUSTER_SIZE; i++)); do NODES+=("n$i"); done
}

# The defaults of a test file; one with needs of its own calls these from its own functions.
test_begins() {
  [ -d "$CLUSTER_DIR" ] || { echo "the cluster is gone"; return 1; }
  cluster_nodes
  # Each test works in a directory of its own: /home/alice/N on the hosts, $WORK here.
  T=/home/alice/$BATS_TEST_NUMBER
  WORK=$ALICE/$BATS_TEST_NUMBER
  install -d -o 2001 -g 2001 "$WORK"
  log_mark
}

test_ends() {
  local clean=yes
  [ -d "$CLUSTER_DIR" ] || return 1
  cluster_restored || clean=no
  if [ -z "${BATS_TEST_COMPLETED:-}" ] || [ "$clean" = no ]; then show_logs; fi
  rm -rf "$WORK"
  [ "$clean" = yes ]
}

# No job left, every node idle, nothing left behind. What is wrong is said, then mended for the next test.
cluster_restored() {
  local ok=yes
  if ! wait_for 40 no_jobs; then
    echo "# jobs that do not end:"; lab exec squeue | sed 's/^/#   /'
    lab exec bash -c 'scancel -s KILL $(squeue -h -o %A) 2>/dev/null; true'
    ok=no
  fi
  if ! wait_for 20 nodes_idle; then
    echo "# nodes that are not idle:"; lab exec sinfo -h -N -o '%N %T %E' | sed 's/^/#   /'
    lab exec scontrol update "nodename=$(lab exec sinfo -h -o %N)" state=resume
    ok=no
  fi
  if ! wait_for 15 residue_none; then
    echo "# left behind (>) or missing (<) since the cluster came up:"; residue_show; ok=no
    local node   # the next test shall find its own leftovers only
    for node in "${NODES[@]}"; do cp "$CLUSTER_DIR/log/residue-$node.now" "$CLUSTER_DIR/log/residue-$node.start"; done
  fi
  [ "$ok" = yes ]
}

no_jobs() { [ -z "$(lab exec squeue -h)" ]; }
nodes_idle() { [ "$(lab exec sinfo -h -N -o %T | grep -cx idle)" -eq "$CLUSTER_SIZE" ]; }

# ---- leave no trace -------------------------------------------------------------------------------------
residue_take() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" /srv/residue.py > "$CLUSTER_DIR/log/residue-$node.now" || return 1
  done
}

residue_none() {
  local node
  residue_take || return 1
  for node in "${NODES[@]}"; do
    cmp -s "$CLUSTER_DIR/log/residue-$node.start" "$CLUSTER_DIR/log/residue-$node.now" || return 1
  done
}

residue_show() {
  local node
  for node in "${NODES[@]}"; do
    diff "$CLUSTER_DIR/log/residue-$node.start" "$CLUSTER_DIR/log/residue-$node.now" \
      | grep '^[<>]' | sed "s/^/#   $node: /"
  done
}

residue_settled() {
  local node
  residue_take || return 1
  for node in "${NODES[@]}"; do cp "$CLUSTER_DIR/log/residue-$node.now" "$CLUSTER_DIR/log/residue-$node.start"; done
  sleep 0.5
  residue_none
}

# ---- waiting and logs -----------------------------------------------------------------------------------
# wait_for SECONDS CMD...: polls until CMD succeeds; the last try decides. Without its cluster nothing will.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  while [ "$SECONDS" -lt "$until" ]; do
    [ -d "$CLUSTER_DIR" ] || { echo "the cluster is gone"; return 1; }
    "$@" > /dev/null 2>&1 && return 0
    sleep 0.2
  done
  "$@" > /dev/null 2>&1
}

log_mark() {
  local log size
  while read -r size log; do echo "$size" > "$log.mark"; done < <(stat -c '%s %n' "$CLUSTER_DIR"/log/*.log)
}

# log_since NAME...: what /var/log/NAME.log gained since the test began.
log_since() {
  local name mark
  for name; do
    mark=$(cat "$CLUSTER_DIR/log/$name.log.mark" 2>/dev/null || echo 0)
    tail -c "+$((mark + 1))" "$CLUSTER_DIR/log/$name.log" 2>/dev/null
  done
}

daemon_logs() {
  local node
  for node in "${NODES[@]}"; do log_since "stagecastd-$node"; done
}

show_logs() {
  local node dull='debug levels|very large processing|prolog for job|job state file|backup state'
  for node in "${NODES[@]}"; do
    log_since "stagecastd-$node" | tail -n 8 | cut -c 1-400 | sed "s/^/# stagecastd $node: /"
    log_since "slurmd-$node" | grep -E 'error|stagecast|spank|rolog' | grep -vE "$dull" | tail -n 4 | sed "s/^/# slurmd $node: /"
  done
  log_since slurmctld | grep -iE 'error|drain|requeue' | grep -vE "$dull" | tail -n 4 | sed 's/^/# slurmctld: /'
}

# How do tests look into the node caches, and at what a job read and sent because of them?
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # SAID is for tests; WORK, NODES, JOB come from the other libraries

CACHE=/var/spool/cache

# A file that was changed a moment ago is not known again.
is_old() { [ "$(($(date +%s) - $(stat -c %Z "$WORK/$1")))" -ge 4 ]; }
old_input() {
  input "$@"
  wait_for 10 is_old "$1"
}

# Each test has files of a length of its own.
entries() { lab on "$1" find $CACHE/2001 -type f -size "$2c"; }
all_keep() {
  local node
  for node in "${NODES[@]}"; do
    [ "$(entries "$node" "$1" | wc -l)" = "${2:-1}" ] || return 1
  done
}

# run_staged ARGS...: a job on all nodes whose ranks (RANK) tell what they found; SAID is its explanation.
run_staged() {
  script "srun ${RANK:-/srv/rank.sh}"
  submit -N "$CLUSTER_SIZE" "$@" job.sh
  wait_job "$JOB" COMPLETED
  explained "$JOB" n0
}
explained() { SAID=$(lab on "$2" /srv/stagecast/bin/stagecast explain "$1" --json | jq -c '.ended[0]'); }
all_left() { [ "$(daemon_logs | grep -c "worker left job=$1 ")" = "$CLUSTER_SIZE" ]; }
sent_by_all() {
  daemon_logs | sed -n "s/.*worker left job=$1 .*packets_sent=\([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n }'
}
said() { [ "$(jq "$1" <<< "$SAID")" = "$2" ] || { echo "not $1 = $2 in $SAID"; return 1; }; }

# Helpers that run jobs and check their results.
#
# Jobs are alice's. T is the test's directory as the hosts see it, WORK the same as this machine does.
# shellcheck shell=bash
# shellcheck disable=SC2154  # T, WORK, NODES come from test_begins; JOB, OUT, ERR are for tests

STAGE_TIMEOUT=20   # what the lab's stagecast.conf says
JOB_TIMEOUT=90        # seconds until a job that should end is called hanging

# Runs as alice on the login host, with a bound on its time.
as_alice() { lab exec -u alice -d "$T" timeout -k 5 "$JOB_TIMEOUT" "$@" < /dev/null; }

# input NAME SIZE [MODE]: a file of random bytes in the test's directory; its age is a round number.
input() {
  head -c "$2" /dev/urandom > "$WORK/$1"
  chmod "${3:-640}" "$WORK/$1"
  chown 2001:2001 "$WORK/$1"
  touch -d '2024-02-29 12:34:56.789' "$WORK/$1"
}

# script TEXT: job.sh in the test's directory; $1 may hold #SBATCH lines first.
script() {
  printf '#!/bin/bash\n%s\n' "$1" > "$WORK/job.sh"
  chmod 755 "$WORK/job.sh"
}

# submit sbatch-ARGS...: sets JOB and OUT (the path of its output).
submit() {
  JOB=$(as_alice sbatch --parsable "$@" 2> "$WORK/submit.err") || { cat "$WORK/submit.err"; return 1; }
  OUT=$WORK/slurm-$JOB.out
}

job_field() { lab exec scontrol show job -o "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
job_ended() {
  case $(job_field "$1" JobState) in
    COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | BOOT_FAIL | OUT_OF_MEMORY | PREEMPTED) return 0 ;;
    *) return 1 ;;
  esac
}

# wait_job JOB STATE: the job ends, in this state.
wait_job() {
  wait_for "$JOB_TIMEOUT" job_ended "$1" || { echo "job $1 hangs: $(lab exec scontrol show job "$1")"; return 1; }
  wait_for 20 no_completing "$1"
  local state
  state=$(job_field "$1" JobState)
  [ "$state" = "$2" ] || { echo "job $1 is $state ($(job_field "$1" Reason)), not $2"; cat "${OUT:-/dev/null}"; return 1; }
}

no_completing() { [ -z "$(lab exec squeue -h -t completing -j "$1" 2>/dev/null)" ]; }

# What rank.sh must have printed for NAME's copy on NODE.
expected_line() {
  local node=$1 name=$2
  echo "FILE $node $name $(stat -c '%a %u %g %Y %s' "$WORK/$name") $(sha256sum < "$WORK/$name" | cut -c 1-64)"
}

# staged_everywhere OUTPUT NAME... [on NODE...]: the ranks on these nodes (all) found these files whole.
staged_everywhere() {
  local text=$1 name node
  local -a names=() nodes=("${NODES[@]}")
  shift
  while [ $# -gt 0 ]; do
    [ "$1" != on ] || { shift; nodes=("$@"); break; }
    names+=("$1")
    shift
  done
  for node in "${nodes[@]}"; do
    for name in "${names[@]}"; do
      grep -qxF "$(expected_line "$node" "$name")" "$text" || {
        echo "not in the output: $(expected_line "$node" "$name")"; cat "$text"; return 1
      }
    done
  done
}

# One sentence for the user: node, file, cause, remedy. sentence TEXTFILE NODE FILE CAUSE
sentence() {
  grep -Eq "stagecast: node $2: [^ ]*$3: .*$4.*; .+" "$1" || {
    echo "no sentence 'stagecast: node $2: ...$3: ...$4...; remedy' in:"; cat "$1"; return 1
  }
}

# An error without a file: the node itself is to blame. node_sentence TEXTFILE NODE CAUSE
node_sentence() {
  grep -Eq "stagecast: node $2: .*$3" "$1" || { echo "no sentence 'stagecast: node $2: ...$3' in:"; cat "$1"; return 1; }
}

no_rank_ran() { ! grep -q '^\(RANK\|FILE\|SCRIPT\)' "$1" || { echo "something ran:"; cat "$1"; return 1; }; }

# The rule by launcher. sbatch_fails ARGS...: FAILED within the time, nothing ran, OUT has the words.
# The exit code is 1, the user's fault, or as in: CODE=75 sbatch_fails ..., a node's.
sbatch_fails() {
  local began=$SECONDS
  script 'echo SCRIPT; srun /srv/rank.sh'
  submit -N "$CLUSTER_SIZE" "$@" job.sh || return 1
  wait_job "$JOB" FAILED || return 1
  [ "$((SECONDS - began))" -le $((STAGE_TIMEOUT + 25)) ] || { echo "failed after $((SECONDS - began)) s"; return 1; }
  exit_code_is "${CODE:-1}" || return 1
  no_rank_ran "$OUT"
}

# exit_code_is CODE: of JOB, as Slurm keeps it.
exit_code_is() {
  [ "$(job_field "$JOB" ExitCode)" = "$1:0" ] || { echo "exit code $(job_field "$JOB" ExitCode), not $1"; cat "$OUT"; return 1; }
}

# srun_fails ARGS...: not 0, or CODE, nothing ran; the words are in OUT.
srun_fails() {
  local rc=0
  OUT=$WORK/srun.out
  as_alice srun -N "$CLUSTER_SIZE" "$@" /srv/rank.sh > "$OUT" 2>&1 || rc=$?
  [ "$rc" != 0 ] && [ "$rc" != 124 ] || { echo "srun: rc $rc"; cat "$OUT"; return 1; }
  [ -z "${CODE:-}" ] || [ "$rc" = "$CODE" ] || { echo "srun: rc $rc, not $CODE"; cat "$OUT"; return 1; }
  no_rank_ran "$OUT"
}

# salloc_fails ARGS...: the shell starts, each of its sruns fails.
salloc_fails() {
  OUT=$WORK/salloc.out
  as_alice salloc -N "$CLUSTER_SIZE" "$@" bash -c 'srun /srv/rank.sh; echo "first $?"; srun /srv/rank.sh; echo "second $?"' \
    > "$OUT" 2>&1 || true
  grep -q '^first [1-9]' "$OUT" && grep -q '^second [1-9]' "$OUT" || { cat "$OUT"; return 1; }
  no_rank_ran "$OUT"
}

# staging JOB: a worker is at it, on node n0 (or $2).
staging() { lab on "${2:-n0}" pgrep -u alice -x stagecast-worke; }

# Sets up the cluster, file and jobs that the demo and the benchmark share. A cluster, a file, and two jobs to compare.
#
# Of a job DIR/ holds: job (its id), out (its output), times (NAME SECONDS-SINCE-THE-EPOCH a line).
# shellcheck shell=bash
# shellcheck disable=SC2154  # NODES, RATE, LOSS: the caller's

LAB=$(dirname "${BASH_SOURCE[0]}")/../cluster/lab
LAB_NAME=run-$$
if [ -n "${BUILD:-}" ]; then   # as make knows it: relative to the repository
  case $BUILD in /*) ;; *) BUILD=$(readlink -m "$(dirname "${BASH_SOURCE[0]}")/../../$BUILD") ;; esac
  export STAGECAST_BUILD=$BUILD
fi
lab() { "$LAB" --name "$LAB_NAME" "$@"; }
as_alice() { lab exec -u alice "$@" < /dev/null; }

# demo_up BYTES [options of lab up]: node-local directories are in memory if that is enough for every copy.
demo_up() {
  local -a options=(--owner $$ --timeout 180 --stagecast StageTimeout=600 --stagecast StallTimeout=60)
  local free_kb
  free_kb=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
  [ $((free_kb / 2)) -gt $(($1 * NODES / 1024)) ] || options+=(--disk)
  case $RATE in
    none | 0) ;;
    # The links carry repairs and Slurm's own packets too: a fiftieth is left to them.
    *) options+=(--rate "$RATE" --stagecast "RateMax=$(rate_configured)" --stagecast RateSearch=no) ;;
  esac
  [ "$LOSS" = 0 ] || options+=(--loss "$LOSS")
  lab up "$NODES" "${options[@]}" "${@:2}"
  LAB_DIR=$(lab path)
  HOME_DIR=$LAB_DIR/home/alice
}

# RATE in bits per second, then the rate that stagecast is configured with.
rate_bits() { echo "$RATE" | sed -E 's/gbit$/000mbit/; s/mbit$/000kbit/; s/kbit$/000/'; }
rate_configured() { echo "$(($(rate_bits) * 98 / 100000))kbit"; }

demo_input() {
  head -c "$1" /dev/urandom > "$HOME_DIR/data"
  chown 2001:2001 "$HOME_DIR/data"
}

mark() { echo "$2 $EPOCHREALTIME" >> "$1/times"; }

# run_job DIR BODY sbatch-ARGS...: submits, waits for its end; false unless it completed.
run_job() {
  local dir=$1 body=$2 job state
  shift 2
  mkdir -p "$dir"
  {
    echo '#!/bin/bash'
    echo 'echo "script $EPOCHREALTIME" >> "$1/times"'
    echo "$body"
    echo 'rc=$?; echo "end $EPOCHREALTIME" >> "$1/times"; exit $rc'
  } > "$HOME_DIR/job.sh"
  chmod 755 "$HOME_DIR/job.sh"
  install -d -o 2001 -g 2001 "$HOME_DIR/times.$$"
  : > "$dir/times"
  mark "$dir" submit
  as_alice sbatch --parsable -N "$NODES" -o "times.$$/out" "$@" job.sh "times.$$" > "$dir/job"
  mark "$dir" submitted
  job=$(cat "$dir/job")
  while :; do
    state=$(lab exec scontrol show job -o "$job" | grep -o 'JobState=[A-Z_]*')
    case ${state#*=} in PENDING | RUNNING | CONFIGURING | COMPLETING | '') sleep 0.2 ;; *) break ;; esac
  done
  cat "$HOME_DIR/times.$$/times" >> "$dir/times" 2>/dev/null || true
  cp "$HOME_DIR/times.$$/out" "$dir/out" 2>/dev/null || : > "$dir/out"
  rm -rf "$HOME_DIR/times.$$"
  [ "${state#*=}" = COMPLETED ] || { echo "job $job: ${state#*=}"; cat "$dir/out"; return 1; } >&2
}

staged_job() { run_job "$1" "$2" --stage-file=data; }

sbcast_job() {
  run_job "$1" 'echo "sbcast $EPOCHREALTIME" >> "$1/times"; sbcast -f data /tmp/data || exit 1
echo "copied $EPOCHREALTIME" >> "$1/times"
'"$2"
}

demo_logs() { tail -n 20 "$LAB_DIR"/log/stagecastd-n*.log >&2; }

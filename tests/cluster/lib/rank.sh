#!/bin/bash
# A rank of the tests: says which file it found, how it looks and what is in it.
# rank.sh [FILE...]: default, each line of $STAGECAST_FILES
if [ $# = 0 ]; then
  while read -r path; do [ -z "$path" ] || set -- "$@" "$path"; done <<< "${STAGECAST_FILES:-}"
fi
echo "RANK $(hostname) job=$SLURM_JOB_ID step=${SLURM_STEP_ID:-} files=$# status=${STAGECAST_JOB_STATUS:-}"
for path; do
  echo "FILE $(hostname) ${path##*/} $(stat -c '%a %u %g %Y %s' "$path" 2>&1) $(sha256sum < "$path" 2>&1 | cut -c 1-64)"
done

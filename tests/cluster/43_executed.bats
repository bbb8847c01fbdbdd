# Tests that a program can be executed on every node the moment its job or step starts.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

TIMES=${EXECUTED:-10}   # jobs, and steps

setup_file() { cluster_up 3; }
teardown_file() { cluster_down; }
setup() {
  test_begins
  cp /bin/true "$WORK/program"
  printf '#!/bin/sh\nexit 0\n' > "$WORK/tool.sh"
  chmod 755 "$WORK/tool.sh"
  chown 2001:2001 "$WORK/program" "$WORK/tool.sh"
}
teardown() { test_ends; }

# None was "Text file busy", and none was missing.
all_ran() { ! grep -vxE "ran|srun: ([jJ]ob|Step) .*" "$1" && [ "$(grep -cx ran "$1")" = "$2" ]; }

@test "a step's program and script, at both kinds of places, with libs and durable" {
  script 'for ((i = 0; i < '"$TIMES"'; i++)); do
    srun --stage-file=program sh -c "\$STAGECAST_STEP_DIR/program && echo ran"
    srun --stage-file=program:/tmp/program.$i:temp sh -c "/tmp/program.$i && echo ran"
    srun --stage-file=program::libs+durable sh -c "\$STAGECAST_STEP_DIR/program && echo ran"
    srun --stage-file=tool.sh sh -c "exec \$STAGECAST_STEP_DIR/tool.sh" && echo ran
  done'
  submit -N3 job.sh
  TIMEOUT=400 wait_job "$JOB" COMPLETED
  all_ran "$OUT" $((TIMES * 10))
}

@test "a job's program" {
  local i
  for ((i = 0; i < TIMES; i++)); do
    as_alice srun -N3 --stage-file=program --stage-file=tool.sh \
      sh -c "\$STAGECAST_DIR/program && \$STAGECAST_DIR/tool.sh && echo ran" >> "$WORK/jobs" 2>&1
  done
  all_ran "$WORK/jobs" $((TIMES * 3))
}

# Tests what status and explain report, and to which users.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 3 --stagecast RateMax=40mbit --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" rm -rf /var/tmp/images; done
  heal
  test_ends
}

ask() { lab on "$1" -u "$2" /srv/stagecast/bin/stagecast "${@:3}"; }
# has_schema NAME NODE USER WORDS...: the command, with --json, prints what the schema NAME describes.
has_schema() {
  local name=$1 rc=0
  shift
  ask "$@" --json > "$WORK/said" || rc=$?
  python3 "$CLUSTER_TESTS/lib/schema.py" "$name" "$WORK/said" || { cat "$WORK/said"; return 1; }
  return "$rc"
}
# Is the stage of the job under way?
moving() { [ "$(ask n0 root status --json | jq '.stages[0].bytes_least // 0')" -gt 1000000 ]; }
# A job whose stage takes eight seconds, time enough to ask about it.
submit_moving() {
  input data 40000000
  script 'true'
  submit -N3 --stage-file=data job.sh
  wait_for 30 moving
}

@test "a running stage is seen by its owner and by root, and by no other user" {
  submit_moving
  ask n0 alice status "$JOB" --json > "$WORK/said"
  [ "$(jq -r '.stages[0].job' "$WORK/said")" = "$JOB" ]
  [ "$(jq -r '.stages[0].phase' "$WORK/said")" = transfer ]
  [ "$(jq '.stages[0].bytes_total' "$WORK/said")" = 40000000 ]
  [ "$(jq '.stages[0].nodes' "$WORK/said")" = 3 ]
  jq -r '.stages[0].slowest' "$WORK/said" | grep -qx 'n[0-2]'
  ask n0 root status > "$WORK/said"
  grep -Eq "^job $JOB: transfer: [0-9.]+ MB of 40.0 MB, .* of 3 nodes done, slowest n[0-2]" "$WORK/said"
  ask n1 root status > "$WORK/said"
  grep -Eq "^job $JOB: transfer: [1-9][0-9.]* MB of 40.0 MB on this node; node n0 reports all 3 nodes" "$WORK/said"
  [ "$(ask n0 bob status --json | jq '.stages | length')" = 0 ]
  run -2 ask n0 bob status "$JOB"
  wait_job "$JOB" COMPLETED
}

@test "explain shows where the time of an ended stage went" {
  input data 4000000
  script 'true'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  ask n0 alice explain "$JOB" > "$WORK/said" || { cat "$WORK/said"; false; }
  grep -q "^job $JOB: ok, 4.0 MB to 3 nodes" "$WORK/said"
  grep -q '^  transport: udp multicast: ' "$WORK/said"
  grep -Eq '^  transfer: [0-9.]+ s' "$WORK/said"
  grep -Eq '^  slow: n[0-2], ' "$WORK/said"
  ask n0 root explain "$JOB" --json > "$WORK/said"
  jq -e '.ended[0].seconds.total > 0' "$WORK/said"
  jq -e '.ended[0].slowest[2].seconds > 0' "$WORK/said"
  [ "$(jq -c '.ended[0].unheard_group' "$WORK/said")" = '[]' ]
  run -2 ask n0 bob explain "$JOB"
  run -64 ask n0 bob explain
}

@test "a job has all of its --stage-timeout, and the error names it" {
  input data 40000000
  script 'true'
  submit -N3 --stage-timeout=4s --stage-file=data job.sh
  wait_job "$JOB" FAILED
  exit_code_is 1   # the user's own limit
  grep -Eq 'not done within --stage-timeout=4 s: [0-9.]+ [KM]?B of 40.0 MB were here' "$OUT" || { cat "$OUT"; false; }
  has_schema explain n0 root explain "$JOB"
  jq -e '.ended[0].seconds.total >= 4 and .ended[0].outcome == "failed"' "$WORK/said"
}

@test "a stage of one node is counted like any other" {
  input data 4000000
  script 'true'
  submit -w n1 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  ask n1 alice explain "$JOB" > "$WORK/said"
  grep -q "^job $JOB: ok, 4.0 MB to 1 node$" "$WORK/said" || { cat "$WORK/said"; false; }
  grep -Eq '^  transfer: [0-9.]+ s' "$WORK/said"
  log_since stagecastd-n1 | grep "stage finished job=$JOB " | grep -q ' bytes=4000000 '
}

@test "a task of an array is known by the name that squeue shows" {
  input data 1000
  script 'true'
  submit -w n1 --array=3 --stage-file=data job.sh
  wait_job "${JOB}_3" COMPLETED
  ask n1 alice explain "${JOB}_3" > "$WORK/said"
  grep -q '^job [0-9]*: ok, 1.0 KB to 1 node$' "$WORK/said" || { cat "$WORK/said"; false; }
  run -2 ask n1 alice explain "${JOB}_4"
  [[ $output == *"squeue -j ${JOB}_4 -o %A"* ]]
  run -64 ask n1 alice explain "${JOB}_x"
}

@test "a node without stages prints a note, and nothing to a script" {
  ask n2 root status > "$WORK/said" 2> "$WORK/err"
  [ ! -s "$WORK/said" ]
  grep -qx 'nothing is under way on this node' "$WORK/err"
}

@test "any node of the job answers for all of them, and only to users that the first one would answer" {
  submit_moving
  ask n2 alice status "$JOB" --json > "$WORK/said"
  [ "$(jq -r '.stages[0].root' "$WORK/said")" = n0 ]
  jq -r '.stages[0].slowest' "$WORK/said" | grep -qx 'n[0-2]'
  run -2 ask n2 bob status "$JOB"
  wait_job "$JOB" COMPLETED
  ask n2 alice explain "$JOB" --json > "$WORK/said"
  [ "$(jq '.ended[0].is_root' "$WORK/said")" = true ]
  [ "$(jq '.ended[0].slowest | length' "$WORK/said")" = 3 ]
  ask n1 root explain "$JOB" | grep -Eq '^  slow: n[0-2], '
  run -2 ask n2 bob explain "$JOB"
  run ! grep -q n0 <<< "$output"
  # Where the first node is silent the one that is asked says what it knows.
  lab stop n0 stagecastd
  ask n2 alice explain "$JOB" > "$WORK/said"
  start_daemon n0
  grep -q 'ask on node n0 for all nodes' "$WORK/said"
}

sending() { [ "$(ask n0 root status --json | jq -r '.pushes[0].round.bytes_least // 0')" -gt 1000000 ]; }

@test "what --json prints is what its schema describes, with every member" {
  local node
  has_schema status n2 root status
  submit_moving
  has_schema status n0 alice status "$JOB"
  has_schema status n1 root status
  has_schema explain n0 alice explain "$JOB"
  jq -e '.stages[0].outcome == "under way"' "$WORK/said"
  wait_job "$JOB" COMPLETED
  has_schema explain n0 alice explain "$JOB"
  jq -e '.ended[0].slowest | length == 3' "$WORK/said"
  has_schema explain n1 root explain "$JOB"
  run -2 has_schema explain n0 bob explain "$JOB"
  script true
  submit -w n0 --stage-file=nowhere::optional job.sh
  wait_job "$JOB" COMPLETED
  has_schema explain n0 root explain "$JOB"
  jq -e '.ended[0].outcome == "partial" and .ended[0].transport == "none"' "$WORK/said"
  # Pushes: one that is under way, one that a node refuses, and those that write nothing.
  for node in n1 n2; do lab on "$node" mkdir -p /var/tmp/images; done
  input image 40000000
  lab on n0 -d "$T" /srv/stagecast/bin/stagecast push -w 'n[1-2]' --json image /var/tmp/images/ > "$WORK/pushed" &
  wait_for 20 sending
  has_schema status n0 root status
  jq -e '.pushes[0].phase == "sending" and .pushes[0].round.is_push' "$WORK/said"
  wait $!
  python3 "$CLUSTER_TESTS/lib/schema.py" push "$WORK/pushed"
  lab on n2 rm -rf /var/tmp/images
  has_schema push n0 root push -w 'n[1-2]' --dry-run "$T/image" /var/tmp/images/image || [ $? = 1 ]
  jq -e '.failed[0].node == "n2"' "$WORK/said"
  input image 1000
  run -1 has_schema push n0 root push -w n1 --verify "$T/image" /var/tmp/images/image
  jq -e '.failed[0].differs' "$WORK/said"
  run -2 has_schema push n0 root push -w n1 "$T/nowhere" /var/tmp/images/image
  jq -e '.why != "" and .bytes == 0' "$WORK/said"
  has_schema explain n0 root explain 0
  jq -e '.ended[0].is_push' "$WORK/said"
}

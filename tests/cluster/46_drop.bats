# Tests that jobs with --stage-no-kill, and pushes, go on without a node that fails while the files are on their way.
# The daemons' tree is a chain: behind a node that fails there are others.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() {
  cluster_up 4 --stagecast OnNodeFault=drop --stagecast RateMax=40mbit --stagecast TreeWidth=1 --stagecast StageTimeout=60 \
    --stagecast ConnectTimeout=2 --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0
}
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { push_ends; }

# begin_no_kill: as begin, of a job that may lose a node.
begin_no_kill() {
  input data 20000000
  script 'echo "SCRIPT $STAGECAST_JOB_STATUS $STAGECAST_DROPPED_NODES"
srun -N3 --exclude="$STAGECAST_DROPPED_NODES" /srv/rank.sh > rest
srun /srv/rank.sh > all 2> errors; echo "SRUN $?"'
  submit -N4 --stage-no-kill --stage-file=data job.sh
  wait_for 40 receiving n3
}

# goes_on_without NODE CAUSE OTHER...: the job ran on the others with the right bytes, never on that node, and says why.
goes_on_without() {
  local node=$1 cause=$2
  shift 2
  wait_job "$JOB" COMPLETED
  cat "$OUT" "$WORK/errors"
  grep -q "^stagecast: node $node: .*$cause.*; the other nodes have the files" "$OUT"
  grep -qx "SCRIPT partial $node" "$OUT"
  staged_everywhere "$WORK/rest" data on "$@"
  run ! grep -q "^SRUN 0" "$OUT"
  staged_everywhere "$WORK/all" data on "$@"
  run ! grep -q " $node " "$WORK/all"
  job_comment | grep -q "stagecast: node $node: .*$cause"
}
job_comment() { lab exec scontrol show job "$JOB" | grep AdminComment; }

@test "a job with --stage-no-kill goes on when a worker is killed: its tasks fail there, and the others have the files" {
  begin_no_kill
  lab on n2 pkill -KILL -u alice -x stagecast-worke
  goes_on_without n2 'stagecast-worker ended' n0 n1 n3
  grep -q 'stagecast: node n2: .*; the job goes on without this node' "$WORK/errors"
  lab on n0 /srv/stagecast/bin/stagecast explain --json "$JOB" > "$WORK/why"
  [ "$(jq -r '.ended[-1].outcome' "$WORK/why")" = partial ]
  [ "$(jq -r '.ended[-1].dropped[]' "$WORK/why")" = n2 ]
}

@test "a job with --stage-no-kill goes on when a worker is stopped, after one StallTimeout" {
  begin_no_kill
  lab on n1 pkill -STOP -u alice -x stagecast-worke
  goes_on_without n1 '' n0 n2 n3
  grep -q 'stagecast: node n1: .*; the job goes on without this node' "$WORK/errors"
}

@test "a job with --stage-no-kill goes on when a daemon dies: the nodes behind it in the tree report elsewhere" {
  begin_no_kill
  lab on n1 bash -c 'kill -KILL $(cat /run/lab/stagecastd.pid)'
  goes_on_without n1 'stagecastd' n0 n2 n3
  start_daemon n1
}

@test "a job with --stage-no-kill fails if the source fails" {
  begin_no_kill
  lab on n0 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n0 '(killed|signal|ended|died)'
}

@test "a job without --stage-no-kill fails with its node, as with OnNodeFault=fail" {
  begin
  lab on n2 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n2 '(killed|signal|ended|died)'
}

# push_drops SIGNAL: a push in whose middle the worker of n2 gets that signal; one round, and n2 is named.
push_drops() {
  input image 20000000
  lab on n0 -d "$T" bash -c '/srv/stagecast/bin/stagecast push -w "n[0-3]" --json image /var/tmp/images/ > said; echo $? > rc' &
  wait_for 20 lab on n3 bash -c 'ls -A /var/tmp/images | grep -q .'
  lab on n2 pkill "-$1" -u root -x stagecast-worke
  wait $!
  cat "$WORK/said"
  [ "$(cat "$WORK/rc")" = 1 ]
  [ "$(jq -c '[.rounds, .done, [.failed[].node]]' "$WORK/said")" = '[1,3,["n2"]]' ]
  has image n0 n1 n3
  wait_for 20 empty_on n2
}

@test "a push goes on without a node whose worker is killed, and names it" { push_drops KILL; }

@test "a push goes on without a node whose worker is stopped, and names it" { push_drops STOP; }

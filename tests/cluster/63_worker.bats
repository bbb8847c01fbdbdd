# Tests that a user's own processes gain nothing from the worker, which runs in the daemon's service.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

# 20 MB take 8 s.
setup_file() {
  cluster_up 2 --stagecast RateMax=20mbit
  install -m 755 "$CLUSTER_TESTS"/attack/trace.py "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

# begin: a job that is being staged to n0 and n1, for seconds.
begin() {
  input data 20000000
  script true
  submit -N2 --stage-file=data job.sh
  wait_for 40 staging "$JOB" n1
}

# traced PROCESS-NAME: what alice's attempts at it on n1 came to.
traced() { lab on n1 -u alice bash -c 'timeout 20 /srv/trace.py "$(pgrep -u alice -x "$0" | head -n 1)"' "$1"; }

@test "tracing works at all: a process of her own can be" {
  [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)" = 0 ] || skip 'ptrace_scope forbids it here'
  lab on n1 -u alice bash -c 'exec -a victim sleep 60' 3>&- < /dev/null > /dev/null 2>&1 &
  wait_for 10 lab on n1 pgrep -u alice -x sleep
  traced sleep | grep -q 'ptrace: yes'
  traced sleep | grep -q 'mem: yes'
  lab on n1 pkill -u alice -x sleep
  wait
}

@test "she traces not her worker, and reads nothing of it" {
  begin
  traced stagecast-worke > "$WORK/said"
  [ "$(grep -c ' no: ' "$WORK/said")" = 5 ] || { cat "$WORK/said"; false; }
  wait_job "$JOB" COMPLETED
}

@test "the programs can be executed by users, not read, and are no other's to write" {
  local program
  for program in stagecast-worker stagecast-pmix-host; do
    [ "$(lab on n1 stat -c '%a %u' "/srv/stagecast/libexec/stagecast/$program")" = '711 0' ]
  done
}

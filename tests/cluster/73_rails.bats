# Tests a job over two interfaces, and nodes that have only one.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 3 --rails 2 --stagecast Interface=eth0+eth1,eth0 --stagecast RateMax=200mbit --stagecast Compress=no; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  lab on n2 ip link set eth1 up
  test_ends
}

received_by() { lab on n1 cat "/sys/class/net/$1/statistics/rx_bytes"; }

# stage_data: a job of three nodes with 20 MB; FIRST and SECOND: what n1's interfaces received meanwhile.
stage_data() {
  FIRST=$(received_by eth0) SECOND=$(received_by eth1)
  input data 20000000
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  FIRST=$(($(received_by eth0) - FIRST)) SECOND=$(($(received_by eth1) - SECOND))
}

@test "each rail brings about half" {
  stage_data
  [ "$FIRST" -gt 8000000 ]
  [ "$SECOND" -gt 8000000 ]
}

@test "a node whose second rail is down: the stage takes the first, and doctor says so" {
  lab on n2 ip link set eth1 down
  stage_data
  [ "$FIRST" -gt 19000000 ]
  [ "$FIRST" -lt 27000000 ]   # all by multicast: no receiver listens on a rail that the source does not use
  [ "$SECOND" -lt 1000000 ]
  run -1 lab on n2 /srv/stagecast/bin/stagecast doctor
  [[ $output == *'WRONG  interface eth1: is down'* ]] || false
  [[ $output == *'WRONG  rails: only eth0 is used'* ]] || false
}

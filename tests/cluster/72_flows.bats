# Tests a job whose multicast is spread over flows.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 3 --stagecast Flows=2 --stagecast RateMax=200mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  lab on n2 pkill -KILL tcpdump || true
  test_ends
}

# ports: UDP ports of the group that n2's link heard data on.
ports() { tcpdump -nn -r "$WORK/pcap" 'udp and dst net 239 and greater 1400' 2> /dev/null | sed 's/.*> [0-9.]*\.\([0-9]*\): UDP.*/\1/' | sort -un; }
heard_both() { [ "$(ports | wc -l)" -ge 2 ]; }

@test "Flows=2: every node has the file, which came by two neighbouring ports" {
  input data 20000000
  lab on n2 tcpdump -i eth0 -U -s 96 -w - udp < /dev/null > "$WORK/pcap" 2> "$WORK/tcpdump" 3>&- &
  wait_for 10 grep -q 'listening on' "$WORK/tcpdump"
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  wait_for 10 heard_both
  [ "$(ports | wc -l)" = 2 ]
  [ "$(ports | tail -n 1)" = $(($(ports | head -n 1) + 1)) ]
}

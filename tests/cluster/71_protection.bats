# Tests Protection= on the wire. Seen from a node that is not in the job.
#
# The three words are tested against each other: a listener that hears nothing would find every word
# secret, and a number mistaken on its way to the worker would turn one word into another.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

teardown() {
  [ -d "${CLUSTER_DIR:-}" ] || return 0
  lab on n2 pkill -KILL tcpdump || true
  test_ends
  cluster_down
}

# heard WORD: stages a file of one phrase to n0 and n1 under this protection; n2's link is in $WORK/pcap.
heard() {
  if [ "$1" = default ]; then cluster_up 3; else cluster_up 3 --stagecast "Protection=$1"; fi
  test_begins
  yes THE-SECRET-OF-THE-FILE | head -c 3000000 > "$WORK/data"
  chown 2001:2001 "$WORK/data"
  lab on n2 tcpdump -i eth0 -B 16384 -U -s 0 -w - udp < /dev/null > "$WORK/pcap" 2> "$WORK/tcpdump" 3>&- &
  wait_for 10 grep -q 'listening on' "$WORK/tcpdump"
  script 'srun /srv/rank.sh'
  submit -w n0,n1 -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n0 n1
  wait_for 10 whole_file_passed
}
whole_file_passed() { [ "$(stat -c %s "$WORK/pcap")" -gt 3000000 ]; }

@test "the default: no other host can read" {
  heard default
  run ! grep -aq SECRET-OF-THE-FILE "$WORK/pcap"
}

@test "encrypt: no other host can read" {
  heard encrypt
  run ! grep -aq SECRET-OF-THE-FILE "$WORK/pcap"
}

@test "auth: a listener can read" {
  heard auth
  grep -aq SECRET-OF-THE-FILE "$WORK/pcap"
}

@test "none: a listener can read" {
  heard none
  grep -aq SECRET-OF-THE-FILE "$WORK/pcap"
}

# Tests that packets are marked and routed as the command line says.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 3 --rate 200mbit; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

# seen HOST FILTER: how many packets of its capture are such.
seen() { tcpdump -nn -r "$WORK/$1.pcap" "$2" 2> /dev/null | wc -l; }

# capture_of ARGS...: what n1's link carried of a group that was started so.
capture_of() {
  rm -f "$WORK"/n*.rc
  STARTED=()
  capture n1
  group "$@"
  ends
  received
  lab on n1 pkill -INT tcpdump
  wait_for 10 no_tcpdump n1
}

@test "--ttl and --dscp are on every packet, by default 1 and CS1" {
  source_file 2000000
  capture_of --rate-max=100mbit
  [ "$(seen n1 'udp and dst net 239')" -gt 20 ]   # as segments of up to 64 KB
  [ "$(seen n1 'udp and dst net 239 and ip[8] != 1')" = 0 ]
  [ "$(seen n1 'udp and ip[1] != 0x20')" = 0 ]
  capture_of --rate-max=100mbit --ttl=7 --dscp=10
  [ "$(seen n1 'udp and dst net 239')" -gt 20 ]   # as segments of up to 64 KB
  [ "$(seen n1 'udp and dst net 239 and ip[8] != 7')" = 0 ]
  [ "$(seen n1 'udp and src host 10.77.1.2')" -gt 0 ]
  [ "$(seen n1 'udp and ip[1] != 0x28')" = 0 ]
}

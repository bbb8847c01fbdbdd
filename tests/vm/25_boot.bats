# Tests one broadcast by RDMA devices: what `make check` boots a machine for.

bats_require_minimum_version 1.5.0
load vm

setup_file() {
  engine_up 3
  chmod a+rw /dev/infiniband/*
}
setup() { test_begins; }
teardown() { test_ends; }

@test "4 MB go to 2 receivers by verbs, encrypted and once" {
  local k
  source_file 4000003
  group --transport=verbs --compress=no
  ends
  received
  for k in 1 2 3; do
    [ "$(json $k transport)" = verbs ]
    [ "$(json $k packet_payload)" = 4068 ]
    [ "$(json $k packets_rejected)" = 0 ]
  done
  [ "$(json 1 packets_sent)" -lt 1200 ] # (984 carry it.)
}

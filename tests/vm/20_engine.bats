# Tests that groups of the engine, one process a host of the LAN, need no network namespaces.

bats_require_minimum_version 1.5.0
load vm

setup_file() { engine_up 3; }
setup() { test_begins; }
teardown() { test_ends; }

sent() { ip netns exec switch cat "/sys/class/net/b$1/statistics/rx_bytes"; }

@test "a file goes from host 1 over its link to hosts 2 and 3, by UDP multicast and by TCP" {
  local transport before
  for transport in udp tcp; do
    source_file 1000003
    before=$(sent 1)
    group --transport=$transport --compress=no
    ends
    received
    [ "$(json 3 transport)" = $transport ]
    [ $(($(sent 1) - before)) -gt 1000003 ] # (not by loopback)
  done
}

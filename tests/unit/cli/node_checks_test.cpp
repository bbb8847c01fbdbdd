// Tests the parsing of the kernel's tables for the doctor.
#include "stager/cli/doctor/node_checks.h"

#include <catch2/catch.hpp>

#include <sstream>

using namespace stage;

TEST_CASE("a listener is found in the kernel's table") {
    const std::string head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
    const std::string rest = " 00000000:00000000 00:00000000 00000000     0        0 1 1\n";
    const auto listens = [&](const std::string& line, std::uint16_t port) {
        std::istringstream table{head + line + rest};
        return has_listener(table, port);
    };
    CHECK(listens("   0: 00000000:1AAD 00000000:0000 0A", 6829));
    CHECK(
        listens("   7: 00000000000000000000000000000000:1AAD "
                "00000000000000000000000000000000:0000 0A",
                6829));
    CHECK(listens("   0: 00000000:0016 00000000:0000 0A", 22));
    CHECK_FALSE(listens("   0: 00000000:1AAD 00000000:0000 0A", 6830));
    // A connection from or to that port is no listener.
    CHECK_FALSE(listens("   0: 0100007F:1AAD 0100007F:D2F0 01", 6829));
    CHECK_FALSE(listens("   0: 0100007F:D2F0 0100007F:1AAD 0A", 6829));
    CHECK_FALSE(listens("", 6829));
}

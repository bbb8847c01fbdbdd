// Fuzzes host files: they are read line by line, or refused.
#include "pmix/static/host_file.h"

#include "pmix/business_card.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

using Hosts = std::vector<std::string>;

void check(const Hosts& hosts) {
    invariant(!hosts.empty() && hosts.size() <= kMaxCards, "a group has members");
    for (const std::string& host : hosts) {
        invariant(!host.empty() && host.size() <= 255, "a host has a name");
        invariant(host.find_first_of(" \t\r\n#") == std::string::npos, "a name is one word");
        const auto address = parse_ip(host);
        invariant(!address || parse_ip(to_string(*address)) == address,
                  "an address is written as it is read");
    }
}

}  // namespace

bool fuzz_one(Bytes input) {
    return is_stable(
        input,
        [](Bytes bytes) { return parse_host_file(text_of(bytes), "hosts"); },
        [](const Hosts& hosts) {
            check(hosts);
            std::string text;
            for (const std::string& host : hosts) {
                text += host + '\n';
            }
            return owned(text);
        });
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"addresses", owned("10.77.1.1\n10.77.1.2\nfd00::3\n")},
            {"comments", owned("# the group\r\n\n  n0  # first\r\nn1")}};
}

}  // namespace stage

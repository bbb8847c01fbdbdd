// Fuzzes stagecast.conf: it is parsed as meant, or refused as a whole.
//
// What is taken is printed as a file that says the same, and stays within its limits.
#include "stager/config/config.h"

#include "stager/config/key.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

/// Asking who a user is may read files and sockets: not ours to test.
bool names_a_user(std::string_view text) {
    constexpr std::string_view kKey = "slurmuser";
    return std::search(text.begin(), text.end(), kKey.begin(), kKey.end(), [](char a, char b) {
               return (a | ' ') == b;
           }) != text.end();
}

void check(const Config& config) {
    const std::uint64_t groups = config.group_count();
    invariant(groups >= 1 && groups <= 65'536, "there are groups to draw from");
    invariant(
        config.group_at(groups - 1) >= config.group_at(0) || config.multicast_groups.size() > 1,
        "the last group can be drawn");
    invariant(config.group_count(config.most_rails()) >= 1, "rails have groups");
    invariant(config.rate_max > 0, "there is a rate");
    invariant(config.stage_root.starts_with('/'), "stages have an absolute place");
    invariant(config.data_port_range.first >= 1 &&
                  config.data_port_range.first <= config.data_port_range.last,
              "there are ports to draw from");
    for (const std::string& root : config.dest_roots) {
        invariant(root.starts_with('/') && (root + '/').find("/../") == std::string::npos,
                  "a root for destinations is what it says");
    }
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (names_a_user(text_of(input))) {
        return false;
    }
    return is_stable(
        input,
        [](Bytes bytes) { return parse_config(text_of(bytes), "stagecast.conf"); },
        [](const Config& config) {
            check(config);
            return owned(print_config(config));
        });
}

std::vector<FuzzSeed> fuzz_seeds() {
    std::string all;
    for (const ConfigKey& key : config_keys()) {
        if (!names_a_user(key.name)) {
            all += std::string{key.name} + '=' + std::string{key.fallback} + '\n';
        }
    }
    return {{"defaults", owned(all)},
            {"comments", owned("# a site's\n\n  TreeWidth = 2  # small\r\nenabled=OFF\n")},
            {"units", owned("RateMax=1.5gbit\nMaxBytes=1.5TiB\nStageTimeout=1.5\n")},
            {"lists",
             owned("DestRoots=/tmp/, /scratch\nInterface=eth0+eth1,ib0\n"
                   "MulticastGroups=239.1.2.3-239.1.2.18,239.9.9.9\n"
                   "DataPortRange=7000-7009\nProtection=auth\n")}};
}

}  // namespace stage

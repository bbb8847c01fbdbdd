// Tests that the constants match docs/protocol, section 13.
#include "transport/core/base/limits.h"
#include "transport/core/base/timeouts.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace stage;
using namespace stage::core;

namespace {

/// "250 us" as nanoseconds, "32 chunks" as 32.
std::int64_t number_of(const std::string& text) {
    std::istringstream in{text};
    std::int64_t value = 0;
    std::string unit;
    in >> value >> unit;
    const std::map<std::string, std::int64_t> times{
        {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
    const auto found = times.find(unit);
    return found == times.end() ? value : value * found->second;
}

/// Name and default of every row of the table of constants.
std::map<std::string, std::int64_t> constants_of_the_page() {
    std::ifstream page{"docs/protocol/constants.md"};
    std::map<std::string, std::int64_t> constants;
    bool is_table = false;
    for (std::string line; std::getline(page, line);) {
        is_table = line.rfind("## ", 0) == 0 ? line.rfind("## 13.", 0) == 0 : is_table;
        if (!is_table || line.rfind("| `", 0) != 0) {
            continue;
        }
        const std::size_t name_end = line.find('`', 3);
        const std::size_t begin = line.find('|', name_end) + 1;
        constants[line.substr(3, name_end - 3)] =
            number_of(line.substr(begin, line.find('|', begin) - begin));
    }
    return constants;
}

template <class Value>
std::int64_t plain(Value value) {
    if constexpr (std::is_same_v<Value, Duration>) {
        return value.count();
    } else {
        return static_cast<std::int64_t>(value);
    }
}

std::map<std::string, std::int64_t> constants_of_the_code() {
    const Limits all;
    std::map<std::string, std::int64_t> constants;
#define SAYS(group, name) constants[#name] = plain(all.group.name)
    SAYS(pacer, burst_bytes_max);
    SAYS(pacer, burst_time);
    SAYS(pacer, burst_packets);
    SAYS(pacer, burst_time_max);
    SAYS(pacer, burst_time_min);
    SAYS(pacer, credit_age_max);
    SAYS(pacer, burst_factor_max);
    SAYS(rate, train_packets);
    SAYS(rate, train_bytes);
    SAYS(rate, train_packets_min);
    SAYS(rate, train_timeout);
    SAYS(rate, flight_remembered);
    SAYS(rate, start_bytes_per_s);
    SAYS(rate, least_bytes_per_s);
    SAYS(rate, most_bytes_per_s);
    SAYS(rate, loss_new_ppm);
    SAYS(rate, loss_steady_ppm);
    SAYS(rate, packets_min);
    SAYS(rate, round);
    SAYS(repair, request_chunks_max);
    SAYS(repair, answer_chunks_max);
    SAYS(repair, requests_max);
    SAYS(repair, in_flight_chunks_min);
    SAYS(repair, in_flight_chunks_max);
    SAYS(repair, in_flight_slack);
    SAYS(repair, stream_share_percent);
    SAYS(repair, stream_pause);
    SAYS(repair, timeout_first);
    SAYS(repair, timeout_margin_min);
    SAYS(repair, timeout_max);
    SAYS(repair, gap_age_min);
    SAYS(repair, gap_packets);
    SAYS(repair, gap_age_max);
    SAYS(repair, gather_time);
    SAYS(repair, look_time_min);
    SAYS(repair, endgame_chunks);
    SAYS(repair, endgame_peers);
    SAYS(repair, endgame_part);
    SAYS(repair, endgame_margin_min);
    SAYS(repair, silences_free);
    SAYS(repair, failures_before_source);
    SAYS(repair, pause_max);
    SAYS(repair, share_requests);
    SAYS(repair, swarm_start_min);
    SAYS(repair, source_askers);
    SAYS(repair, jobs_max);
    SAYS(repair, loads_max);
    SAYS(repair, job_age_max);
    SAYS(repair, number_gap_max);
    SAYS(repair, bad_digests_max);
    SAYS(parity, symbols_max);
    SAYS(parity, coded_blocks_max);
    SAYS(parity, parities);
    SAYS(parity, describe_every);
    SAYS(parity, offered_symbols_max);
    SAYS(parity, offers);
    SAYS(feedback, representatives);
    SAYS(feedback, interval);
    SAYS(feedback, interval_packets);
    SAYS(feedback, interval_slow);
    SAYS(feedback, interval_min);
    SAYS(feedback, report_packets_min);
    SAYS(feedback, report_packets_each);
    SAYS(feedback, interval_start);
    SAYS(feedback, report_time);
    SAYS(feedback, start_packets);
    SAYS(feedback, silence);
    SAYS(feedback, stall_fraction);
    SAYS(feedback, heartbeat_time);
    SAYS(feedback, representative_silence);
    SAYS(feedback, votes_blocks_max);
    SAYS(feedback, repeat_window_min);
    SAYS(feedback, repeat_window_max);
    SAYS(feedback, shared_window);
    SAYS(feedback, window_eighths);
    SAYS(feedback, window_timeout);
    SAYS(ending, tree_degree);
    SAYS(ending, done_retry);
    SAYS(ending, done_retry_max);
    SAYS(ending, done_tries);
    SAYS(ending, done_gather);
    SAYS(ending, done_refresh);
    SAYS(ending, alive_first);
    SAYS(ending, end_first);
    SAYS(ending, end_packets);
    SAYS(ending, end_even);
    SAYS(ending, end_first_coded);
    SAYS(ending, end_max);
    SAYS(ending, offer_unread);
    SAYS(ending, offer_first);
    SAYS(ending, offer_even);
    SAYS(ending, offer_max);
    SAYS(ending, call_first);
    SAYS(ending, call_least);
    SAYS(ending, path_timeout);
    SAYS(ending, unreached_after);
    SAYS(ending, unreached_after_forced);
    SAYS(ending, unreached_offers);
    SAYS(ending, hand_over_confirms);
    SAYS(ending, ready_jitter);
    SAYS(ending, ending_first);
    SAYS(ending, ending_max);
    SAYS(ending, leave_times);
    SAYS(ending, answer_late);
    SAYS(ending, confirming_members_max);
    SAYS(ending, answer_late_member);
    SAYS(ending, finish_factor);
    SAYS(fetch, left_interval);
    SAYS(fetch, pull_window_first);
#undef SAYS
    constants["outbox_max"] = plain(all.outbox_max);
    constants["descriptors_max"] = plain(all.descriptors_max);
    constants["source_descriptors_max"] = plain(all.source_descriptors_max);
    constants["stream_wait"] = plain(all.stream_wait);
    constants["load_ahead_max"] = plain(all.load_ahead_max);
    return constants;
}

}  // namespace

TEST_CASE("the page's constants are the code's, each of them") {
    const auto page = constants_of_the_page();
    const auto code = constants_of_the_code();
    REQUIRE_FALSE(page.empty());
    for (const auto& [name, value] : code) {
        CAPTURE(name);
        REQUIRE(page.contains(name));
        CHECK(page.at(name) == value);
    }
    for (const auto& [name, value] : page) {
        CAPTURE(name, value);
        CHECK(code.contains(name));
    }
}

TEST_CASE("time-outs that are not configured have the page's defaults") {
    const CoreConfig config = with_default_timeouts(CoreConfig{});
    CHECK(config.ready_timeout == std::chrono::seconds{10});
    CHECK(config.stall_timeout == std::chrono::seconds{30});
    CHECK(config.linger == std::chrono::seconds{60});
    CHECK(kBlocksMax == 1U << 24U);
}

#include "stager/daemon/tree/outcome.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

/// Bytes of the state and the lengths of two texts.
constexpr std::size_t kOutcomeHead = 9;
constexpr std::size_t kMaxStatisticsInOutcome = 512;
constexpr std::size_t kMaxPartialBytes = 1024;
constexpr std::array kReported{
    "seconds", "packets_lost", "packets_repaired", "bytes_read", "bytes_here"};
constexpr std::array kHappened{"group_left", "group_unheard", "group_relayed"};

}  // namespace

std::string statistics_to_tell(const std::string& statistics) {
    const auto line = nlohmann::json::parse(statistics, nullptr, /*allow_exceptions=*/false);
    auto kept = nlohmann::json::object();
    if (!line.is_object()) {
        return kept.dump();
    }
    for (const char* name : kReported) {
        if (const auto found = line.find(name); found != line.end() && found->is_number()) {
            kept[name] = *found;
        }
    }
    for (const char* name : kHappened) {
        if (line.contains(name)) {
            kept[name] = true;
        }
    }
    return kept.dump();
}

std::vector<std::byte> encode(const NodeOutcome& outcome, std::size_t nodes) {
    const std::size_t room = (kMaxGathered - 4) / nodes - kContributionHead - kOutcomeHead;
    const auto sentence =
        std::string_view{outcome.sentence}.substr(0, std::min(kMaxPartialBytes, room));
    const std::size_t left = std::min(kMaxStatisticsInOutcome, room - sentence.size());
    ByteWriter writer;
    writer.u8(static_cast<std::uint8_t>(outcome.state)).text(sentence);
    writer.text(outcome.statistics.size() <= left ? outcome.statistics : std::string{});
    return writer.take();
}

std::optional<NodeOutcome> decode_node_outcome(Bytes bytes) {
    ByteReader reader{bytes};
    const std::uint8_t state = reader.u8();
    NodeOutcome outcome;
    outcome.state = state == 0 ? VerdictState::ok : VerdictState::partial;
    outcome.sentence = reader.text(kMaxPartialBytes);
    outcome.statistics = reader.text(kMaxStatisticsInOutcome);
    return reader.finished() && state <= 1 ? std::optional{std::move(outcome)} : std::nullopt;
}

GroupVerdict verdict_of(const std::vector<Contribution>& outcomes,
                        const std::vector<std::string>& names) {
    Failures missing;
    for (const Contribution& one : outcomes) {
        auto outcome = decode_node_outcome(one.bytes);
        if (!outcome) {
            missing.add({one.rank, Blame::internal, "its stagecastd sent a malformed outcome"});
        } else if (outcome->state == VerdictState::partial) {
            missing.add({one.rank, Blame::user, std::move(outcome->sentence)});
        }
    }
    if (missing.empty()) {
        return {.state = VerdictState::ok, .blame = Blame::user, .sentence = {}, .culprit = {}};
    }
    return {.state = VerdictState::partial,
            .blame = missing.blame(),
            .sentence = missing.sentence(names),
            .culprit = missing.culprit()};
}

}  // namespace stage

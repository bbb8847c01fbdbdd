#include "stager/daemon/tree/outcome.h"

#include "transport/base/fields.h"

#include <algorithm>

namespace stage {
namespace {

/// Bytes of state and blame and the lengths of sentence and statistics.
constexpr std::size_t kOutcomeHead = 10;
constexpr const char* kUnreadable = "its stagecastd sent a malformed outcome";
constexpr std::size_t kMaxStatisticsInOutcome = 64;
constexpr std::size_t kMaxPartialBytes = 1024;

}  // namespace

std::vector<std::byte> encode(const NodeOutcome& outcome, std::size_t nodes) {
    const std::size_t room = (kMaxGathered - 4) / nodes - kContributionHead - kOutcomeHead;
    const auto sentence =
        std::string_view{outcome.sentence}.substr(0, std::min(kMaxPartialBytes, room));
    auto statistics =
        outcome.statistics ? encoded(*outcome.statistics) : std::vector<std::byte>{};
    if (statistics.size() > room - sentence.size()) {
        statistics.clear();
    }
    ByteWriter writer;
    writer.u8(static_cast<std::uint8_t>(outcome.state));
    writer.u8(static_cast<std::uint8_t>(outcome.blame)).text(sentence).blob(statistics);
    return writer.take();
}

std::optional<NodeOutcome> decode_node_outcome(Bytes bytes) {
    ByteReader reader{bytes};
    NodeOutcome outcome;
    FieldReader on{reader};
    on.choice(outcome.state, VerdictState::failed).choice(outcome.blame, Blame::internal);
    outcome.sentence = reader.text(kMaxPartialBytes);
    if (const Bytes statistics = reader.blob(kMaxStatisticsInOutcome); !statistics.empty()) {
        outcome.statistics = decoded<NodeStatistics>(statistics);
        on.require(outcome.statistics.has_value());
    }
    return reader.finished() ? std::optional{std::move(outcome)} : std::nullopt;
}

GroupVerdict verdict_of(const std::vector<Contribution>& outcomes,
                        const std::vector<std::string>& names) {
    Failures missing;
    for (const Contribution& one : outcomes) {
        auto outcome = decode_node_outcome(one.bytes);
        if (!outcome || outcome->state == VerdictState::failed) {
            missing.add({one.rank, Blame::internal, kUnreadable});
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

namespace {

/// Adds the nodes that did not say that they have the files.
void add_failed(Failures& failures,
                const std::vector<Contribution>& outcomes,
                std::size_t nodes) {
    std::vector<bool> is_known(nodes);
    for (const Contribution& one : outcomes) {
        if (one.rank.index() >= nodes) {
            continue;
        }
        is_known[one.rank.index()] = true;
        const auto outcome = decode_node_outcome(one.bytes);
        if (!outcome) {
            static_cast<void>(failures.add({one.rank, Blame::internal, kUnreadable}));
        } else if (outcome->state == VerdictState::failed) {
            static_cast<void>(failures.add({one.rank, outcome->blame, outcome->sentence}));
        }
    }
    for (std::size_t i = 0; i < nodes; ++i) {
        if (!is_known[i]) {
            static_cast<void>(failures.add({Rank{static_cast<Rank::rep>(i)},
                                            Blame::node,
                                            "its stagecastd fell silent during the stage"}));
        }
    }
}

std::vector<Rank> ranks_of(const Failures& failures) {
    std::vector<Rank> ranks = failures.unnamed();
    for (const Failure& failure : failures.named()) {
        ranks.push_back(failure.rank);
    }
    std::ranges::sort(ranks);
    return ranks;
}

}  // namespace

GroupVerdict verdict_without_failed(const std::vector<Contribution>& outcomes,
                                    const std::vector<std::string>& names,
                                    Failures& failures) {
    add_failed(failures, outcomes, names.size());
    if (failures.empty()) {
        return verdict_of(outcomes, names);
    }
    GroupVerdict verdict{.state = VerdictState::failed,
                         .blame = failures.blame(),
                         .sentence = failures.sentence(names),
                         .culprit = failures.culprit(),
                         .dropped = ranks_of(failures)};
    const bool is_root_alone = verdict.dropped.size() + 1 >= names.size();
    if (is_root_alone || verdict.dropped.front() == Rank{0} ||
        names_of_dropped(verdict, names).size() > kMaxDroppedBytes) {
        verdict.dropped.clear();
        return verdict;
    }
    std::vector<Contribution> others;
    std::ranges::copy_if(outcomes, std::back_inserter(others), [&](const Contribution& one) {
        return !std::ranges::binary_search(verdict.dropped, one.rank);
    });
    const GroupVerdict rest = verdict_of(others, names);
    verdict.state = VerdictState::partial;
    verdict.sentence += "; the other nodes have the files";
    verdict.sentence += rest.sentence.empty() ? "" : "; " + rest.sentence;
    return verdict;
}

std::string names_of_dropped(const GroupVerdict& verdict,
                             const std::vector<std::string>& names) {
    std::string text;
    for (const Rank rank : verdict.dropped) {
        if (rank.index() < names.size()) {
            text += (text.empty() ? "" : ",") + names[rank.index()];
        }
    }
    return text;
}

}  // namespace stage

#include "stager/daemon/group/collectives.h"

#include <algorithm>

namespace stage {
namespace {

/// Open collectives of a stage; a worker makes one or two fences and a group.
constexpr std::size_t kMaxGathers = 16;

std::vector<std::byte> concatenated(const std::vector<Contribution>& all) {
    ByteWriter writer;
    for (const Contribution& one : all) {
        writer.raw(one.bytes);
    }
    return writer.take();
}

/// The contributions are under the user's control: the node with the longest one is named.
Failure too_long(const std::vector<Contribution>& all) {
    const auto longest =
        std::max_element(all.begin(), all.end(), [](const auto& one, const auto& other) {
            return one.bytes.size() < other.bytes.size();
        });
    return {longest->rank,
            Blame::user,
            "the nodes' business cards are too long for one message (" +
                std::to_string(all.size()) + " nodes, " + std::to_string(length_of(all)) +
                " bytes); stage for fewer nodes"};
}

/// At the root: what all nodes have contributed, as the nodes get it.
std::vector<std::byte> result_of(Collective kind,
                                 const std::vector<Contribution>& all,
                                 std::uint64_t context) {
    if (kind == Collective::fence) {
        return concatenated(all);
    }
    if (kind == Collective::group) {
        return ByteWriter{}.u64(context).take();
    }
    ByteWriter writer;
    if (kind == Collective::cards) {
        put_contributions(writer, all);
    }
    return writer.take();
}

}  // namespace

Collectives::Step Collectives::contribute(Collective kind,
                                          std::uint32_t sequence,
                                          std::vector<std::byte> bytes) {
    GatheredMessage own{kind, sequence, {}};
    own.contributions.push_back({seat_.self, std::move(bytes)});
    return on_gathered(seat_.self, std::move(own));
}

Collectives::Step Collectives::on_gathered(Rank from, GatheredMessage part) {
    const auto& list = part.contributions;
    const bool theirs = std::all_of(list.begin(), list.end(), [&](const auto& one) {
        return one.rank == from || seat_.tree.is_ancestor(from, one.rank);
    });
    if (!theirs) {
        return {.is_allowed = false};
    }
    if (has_ended_ || !epoch_.has(part.kind, part.sequence)) {
        return {};  // It comes too late, and changes nothing.
    }
    const Key key{part.kind, part.sequence};
    Gather* const gather = find_or_begin(key);
    if (gather == nullptr) {
        return {.is_allowed = false};
    }
    if (!gather->add(from, std::move(part.contributions))) {
        return {.is_allowed = may_be_late(from, part.kind)};
    }
    return gather->complete() ? conclude(key, gather->take()) : Step{};
}

Gather* Collectives::find_or_begin(Key key) {
    const auto found = gathers_.find(key);
    if (found != gathers_.end()) {
        return &found->second;
    }
    if (gathers_.size() >= kMaxGathers) {
        return nullptr;
    }
    const auto children =
        seat_.may_lack(key.first) ? links_.kept() : seat_.tree.children(seat_.self);
    return &gathers_.try_emplace(key, seat_.self, children).first->second;
}

/// What is not awaited may come too late, from a re-parented grandchild or from a node that was
/// dropped. An outcome is sent again where a link was made again.
bool Collectives::may_be_late(Rank from, Collective kind) const {
    return kind == Collective::outcome || seat_.tree.parent(from) != seat_.self;
}

Collectives::Step Collectives::conclude(Key key, std::vector<Contribution> all) {
    const auto [kind, sequence] = key;
    if (seat_.is_root() && kind == Collective::outcome) {
        return {.outcomes = std::move(all)};
    }
    if (length_of(all) > kMaxGathered) {
        return {.failure = too_long(all)};
    }
    if (seat_.is_root()) {
        on_result({kind, sequence, result_of(kind, all, seat_.context_base + sequence)});
        return {};
    }
    GatheredMessage gathered{kind, sequence, std::move(all)};
    if (kind == Collective::outcome) {
        outcomes_sent_ = gathered;
    }
    links_.send_above(std::move(gathered));
    return {};
}

void Collectives::on_result(const ResultMessage& result) {
    if (!epoch_.has(result.kind, result.sequence)) {
        return;
    }
    const bool is_again =
        result.kind == Collective::listening && std::exchange(listening_, result) == result;
    if (!has_ended_ && !is_again) {
        links_.send_below(result);
        links_.command(group::Deliver{result.kind, result.sequence, result.bytes});
    }
}

Collectives::Step Collectives::await_instead(Rank lost, const std::vector<Rank>& below) {
    const auto found = gathers_.find(kOutcome);
    if (has_ended_ || !seat_.may_lack(Collective::outcome) || found == gathers_.end() ||
        found->second.complete()) {
        return {};
    }
    found->second.replace(lost, below);
    return found->second.complete() ? conclude(kOutcome, found->second.take()) : Step{};
}

std::vector<Rank> Collectives::awaited() const {
    std::vector<Rank> all;
    for (const auto& [key, gather] : gathers_) {
        all.insert(all.end(), gather.awaited().begin(), gather.awaited().end());
    }
    return all;
}

void Collectives::end() {
    has_ended_ = true;
    gathers_.clear();
}

// ---- another epoch

std::optional<Failure> Collectives::request_direct(const std::string& why) {
    if (has_ended_ || epoch_.cards_follow) {
        return std::nullopt;
    }
    if (gathers_.contains(kOutcome)) {
        return Failure{seat_.self, Blame::node, why};
    }
    if (seat_.is_root()) {
        begin_epoch(epoch_.without_pmix());
    } else {
        links_.send_above(DirectMessage{});
    }
    return std::nullopt;
}

std::optional<Failure> Collectives::request_port(PortsMessage asked, const std::string& why) {
    if (has_ended_ || asked.move != epoch_.draws || !seat_.has(asked.rank)) {
        return std::nullopt;  // Another port is being drawn already.
    }
    if (epoch_.draws >= kPortDrawsMax || gathers_.contains(kOutcome)) {
        return Failure{asked.rank, Blame::node, why};
    }
    if (seat_.is_root()) {
        taken_.insert(asked.taken.begin(), asked.taken.end());
        links_.command(group::DrawPort{asked.rank, taken_});
    } else {
        asked.taken.resize(std::min(asked.taken.size(), kTakenPortsMax));
        links_.send_above(std::move(asked));
    }
    return std::nullopt;
}

/// The workers of earlier epochs have ended, and their contributions are void.
void Collectives::begin_epoch(const Epoch& epoch) {
    if (has_ended_ || !epoch.is_after(epoch_)) {
        return;
    }
    epoch_ = epoch;
    listening_.reset();
    std::erase_if(gathers_, [this](const auto& one) {
        return !epoch_.has(one.first.first, one.first.second);
    });
    links_.send_below(epoch_message());
    links_.command(group::BeginEpoch{epoch_});
}

TreeMessage Collectives::epoch_message() const {
    if (epoch_.draws == 0) {
        return DirectMessage{};
    }
    return PortsMessage{.move = epoch_.draws, .port = epoch_.port, .rank = {}, .taken = {}};
}

// ---- over a new link

void Collectives::inform(Rank below) {
    if (epoch_ != seat_.epoch) {
        links_.send(below, epoch_message());
    }
    if (listening_) {
        links_.send(below, *listening_);
    }
}

void Collectives::inform_parent() {
    if (outcomes_sent_) {
        links_.send_above(*outcomes_sent_);
    }
}

}  // namespace stage

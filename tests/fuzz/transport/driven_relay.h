// Follows the connections of a driven relay core, and checks what it does with them.
//
// It knows by itself what each child has requested by its present connection, and which members
// hold the object, from the packets that the core receives. So a chunk that is sent twice, that
// was not requested, or for which the connection has no room, is found.
#pragma once

#include "tests/fuzz/transport/driven_core.h"
#include "transport/core/relay/relay_limits.h"

#include <map>
#include <optional>
#include <set>

namespace stage {

class DrivenConnections {
  public:
    static constexpr bool kHasLinks = true;

    explicit DrivenConnections(const core::CoreConfig& config) : config_{config} {}

    void on_datagram(const core::Datagram& datagram) {
        const LinkEnd from{.peer = datagram.header.rank, .flow = datagram.header.flow};
        switch (datagram.header.type) {
            case wire::PacketType::ready:
                // (The core takes it as a child's, or ignores it: a parent's.)
                children_[from] = {};
                return;
            case wire::PacketType::request:
                if (const auto body = wire::read_request(datagram.body)) {
                    for (const wire::ChunkRun& run : body->runs) {
                        children_[from].requested[run.block].insert(run.first);
                    }
                }
                return;
            case wire::PacketType::done:
                if (const auto body = wire::read_done(datagram.body)) {
                    add(body->ranks);
                }
                return;
            default:
                return;
        }
    }

    void on_link(const LinkEvent& event) {
        const LinkEnd to{.peer = event.peer, .flow = event.flow};
        if (event.kind != LinkEvent::Kind::ready) {
            end(to);
        } else {
            children_[to].bytes_under_way = 0;
        }
    }

    void on_operation(const core::Operation& operation) {
        const LinkEnd to{.peer = operation.peer, .flow = operation.flow};
        if (operation.kind == core::OperationKind::hang_up) {
            end(to);
        } else if (operation.kind == core::OperationKind::connect) {
            invariant(operation.peer != config_.own &&
                          operation.peer.value() < config_.members &&
                          config_.own != config_.source,
                      "a receiver connects to another member");
            invariant(parents_.emplace(to.flow, to.peer).second,
                      "a member has one parent for each stripe");
        }
    }

    void check_send(const core::Send& send) {
        invariant(!send.to.to_group, "a relay has no group");
        Child& child = children_[{.peer = send.to.peer, .flow = send.to.flow}];
        if (send.type == wire::PacketType::describe) {
            const auto body = wire::read_describe(send.body);
            invariant(body.has_value(), "a DESCRIBE can be read");
            child.described.insert(body->first);
        } else if (send.type == wire::PacketType::data) {
            check_data(child, send);
        }
    }

    void check_outcome(const core::Outcome& outcome) const {
        if (outcome.phase != core::Phase::released || config_.own != config_.source) {
            return;
        }
        std::set<std::uint32_t> settled = done_;
        settled.insert(config_.source.value());
        for (const core::DroppedMember& each : outcome.dropped) {
            settled.insert(each.rank.value());
        }
        invariant(settled.size() == config_.members,
                  "a broadcast has succeeded when every member holds the object");
    }

  private:
    struct Child {
        /// By block: the first chunks that it asked for.
        std::map<BlockIndex, std::set<std::uint32_t>> requested{};
        std::map<BlockIndex, std::uint32_t> sent_below{};
        std::set<BlockIndex> described{};
        std::uint64_t bytes_under_way = 0;
    };

    /// One chunk after the other, from where a request began.
    void check_data(Child& child, const core::Send& send) const {
        invariant(child.described.contains(send.block), "a block is described before its data");
        auto& begins = child.requested[send.block];
        const std::uint32_t first = send.first.value();
        const auto sent = child.sent_below.find(send.block);
        const bool goes_on = sent != child.sent_below.end() && sent->second == first;
        invariant(begins.erase(first) == 1 || goes_on,
                  "a chunk is sent to a child that requested it, once");
        child.sent_below[send.block] = first + send.count;
        child.bytes_under_way += std::uint64_t{send.count} * config_.chunk_bytes;
        invariant(child.bytes_under_way <= core::RelayLimits{}.send_bytes_max,
                  "a connection gets what it has room for");
    }

    void end(LinkEnd to) {
        children_.erase(to);
        if (const auto parent = parents_.find(to.flow);
            parent != parents_.end() && parent->second == to.peer) {
            parents_.erase(parent);
        }
    }

    void add(const std::vector<wire::RankRun>& runs) {
        for (const wire::RankRun& run : runs) {
            for (std::uint32_t rank = run.first.value();
                 rank <= run.last.value() && rank < config_.members;
                 ++rank) {
                done_.insert(rank);
            }
        }
    }

    core::CoreConfig config_;
    std::map<LinkEnd, Child> children_;
    std::map<Flow, Rank> parents_;
    std::set<std::uint32_t> done_;  ///< Members that said so, or of which others did.
};

}  // namespace stage

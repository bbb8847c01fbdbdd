#include "tests/sim/baselines/node.h"

#include "transport/core/base/limits.h"
#include "transport/core/sending/train.h"

#include <algorithm>
#include <utility>

namespace stage::sim {
namespace {

constexpr Duration kTellEvery = milliseconds{20};
constexpr Duration kEndEvery = milliseconds{1};
constexpr std::uint32_t kReleases = 40;
/// DONEs of many members must not arrive at once.
constexpr Duration kDoneSpread = microseconds{2};

std::uint64_t rate_of(const Plan& plan) {
    return std::max<std::uint64_t>(plan.configured_bytes_per_s, 1);
}

std::vector<std::uint32_t> first_chunks(const Plan& plan) {
    const Object object{plan};
    std::vector<std::uint32_t> first{0};
    for (std::uint32_t block = 0; block < plan.block_bytes.size(); ++block) {
        first.push_back(first.back() + object.chunks(block));
    }
    return first;
}

}  // namespace

Node::Node(const Plan& plan, std::uint16_t rank)
    : plan_{plan},
      rank_{rank},
      object_{plan},
      prng_{plan.seed * 65'537 + rank},
      have_{static_cast<std::uint32_t>(plan.chunks())},
      pacer_{core::PacerLimits{}, rate_of(plan), plan.chunk_bytes + core::kWireOverheadBytes},
      first_{first_chunks(plan)},
      packet_bytes_{plan.chunk_bytes + core::kWireOverheadBytes},
      done_{plan.members},
      telling_{{.first = kTellEvery, .max = kTellEvery, .times = kReleases}} {
    for (std::uint32_t block = 0; block < plan.block_bytes.size(); ++block) {
        left_.push_back(first_[block + 1] - first_[block]);
    }
    outcome_.phase = core::Phase::moving;
    outcome_.chunk_bytes = plan.chunk_bytes;
}

std::uint32_t Node::block_of(std::uint32_t chunk) const {
    const auto after = std::ranges::upper_bound(first_, chunk);
    return static_cast<std::uint32_t>(after - first_.begin()) - 1;
}

void Node::on_datagrams(Instant now, std::span<const core::Datagram> datagrams) {
    for (const core::Datagram& datagram : datagrams) {
        if (datagram.header.is_data()) {
            on_data(now, datagram);
        } else if (datagram.header.type == wire::PacketType::done) {
            done_.add(datagram.header.rank);
        } else if (datagram.header.type == wire::PacketType::release) {
            outcome_.phase = core::Phase::released;
            telling_.stop();
        } else if (outcome_.phase != core::Phase::released) {
            on_control(now, datagram);
        }
    }
    on_time(now);
}

void Node::on_data(Instant now, const core::Datagram& datagram) {
    const std::uint32_t block = datagram.header.block.value();
    if (is_source() || has_all()) {
        return drop(datagram);
    }
    if (block >= plan_.block_bytes.size()) {
        return on_parity(now, datagram);
    }
    const std::uint32_t chunk = first_[block] + datagram.header.chunk.value();
    if (wants(chunk) && have_.add(chunk)) {
        core::Operation place;
        place.kind = core::OperationKind::place;
        place.ticket = datagram.lease;
        place.block = datagram.header.block;
        place.chunk = datagram.header.chunk;
        operations_.push_back(place);
        --left_[block];
        advance(block);
    } else {
        drop(datagram);
    }
    on_chunk(now, datagram, chunk);
}

void Node::drop(const core::Datagram& datagram) {
    core::Operation drop;
    drop.ticket = datagram.lease;
    operations_.push_back(drop);
}

void Node::on_reconstructed(std::uint32_t block) {
    for (std::uint32_t chunk = first_[block]; chunk < first_[block + 1]; ++chunk) {
        have_.add(chunk);
    }
    left_[block] = 0;
    advance(block);
}

void Node::advance(std::uint32_t block) {
    if (left_[block] == 0) {
        order(core::OperationKind::verify, block);
    }
}

void Node::order(core::OperationKind kind, std::uint32_t block) {
    core::Operation operation;
    operation.kind = kind;
    operation.ticket = core::Ticket{ticket_++};
    operation.block = BlockIndex{block};
    if (kind == core::OperationKind::verify || kind == core::OperationKind::store) {
        operation.descriptor = object_.describe(block);
    }
    operations_.push_back(operation);
}

void Node::on_done(Instant now, std::span<const core::Completion> completions) {
    for (const core::Completion& done : completions) {
        const std::uint32_t block = done.block.value();
        if (done.kind == core::OperationKind::load) {
            ++loaded_;
            for (std::uint32_t chunk = first_[block]; chunk < first_[block + 1]; ++chunk) {
                have_.add(chunk);
            }
        } else if (done.kind == core::OperationKind::verify) {
            order(core::OperationKind::store, block);  // a wrong one is the world's complaint
        } else if (done.kind == core::OperationKind::store) {
            ++stored_;
        } else if (done.kind == core::OperationKind::finish) {
            outcome_.phase = core::Phase::holding;
            outcome_.held_at = now;
            if (!is_source()) {
                telling_.start(now + kDoneSpread *
                                         static_cast<std::int64_t>(prng_.below(plan_.members)));
            }
        }
        if ((is_source() ? loaded_ : stored_) == plan_.block_bytes.size() &&
            (done.kind == core::OperationKind::load ||
             done.kind == core::OperationKind::store)) {
            order(core::OperationKind::finish, 0);
        }
    }
    on_time(now);
}

void Node::on_time(Instant now) {
    if (!is_started_) {
        is_started_ = true;
        for (std::uint32_t block = 0; is_source() && block < plan_.block_bytes.size();
             ++block) {
            order(core::OperationKind::load, block);
        }
    }
    if (outcome_.phase != core::Phase::released) {
        work(now);
    }
    tell(now);
}

void Node::tell(Instant now) {
    if (is_source() && outcome_.phase == core::Phase::holding &&
        done_.count() + 1 == plan_.members) {
        outcome_.phase = core::Phase::released;
        telling_.start(now);
    }
    if (telling_.is_due(now)) {
        const auto type = is_source() ? wire::PacketType::release : wire::PacketType::done;
        control_.push(type, is_source() ? group() : peer(plan_.source), {});
    }
}

void Node::next_sends(Instant now, core::SendBatch& sends) {
    pacer_.charge(control_.drain(sends, numbers_));
    if (outcome_.phase != core::Phase::released && wants_to_send() && pacer_.is_due(now)) {
        fill(now, sends);
    }
}

void Node::next_operations(Instant, core::OperationBatch& operations) {
    while (!operations_.empty() && !operations.full()) {
        operations.operations.push_back(operations_.front());
        operations_.pop_front();
    }
}

std::optional<Instant> Node::deadline() const {
    if (outcome_.phase == core::Phase::released) {
        return telling_.deadline();
    }
    if (!is_started_) {
        return core::kLongAgo;
    }
    // (A member that waits for others needs only a deadline.)
    auto first = core::earlier(next(), Instant{std::chrono::hours{2}});
    first = core::earlier(first, telling_.deadline());
    return wants_to_send() ? core::earlier(first, pacer_.burst_at(core::kLongAgo)) : first;
}

std::uint32_t Node::send(Instant now,
                         core::SendBatch& batch,
                         core::Destination to,
                         std::uint32_t chunk,
                         std::uint32_t count) {
    const std::uint32_t block = block_of(chunk);
    const std::uint32_t room = core::packets_allowed(batch, pacer_.credit(now), packet_bytes_);
    count = std::min({count, first_[block + 1] - chunk, room});
    if (count == 0) {
        return 0;
    }
    core::Send send;
    send.to = to;
    send.packet_number = numbers_.take(count);
    send.block = BlockIndex{block};
    send.first = ChunkIndex{static_cast<std::uint16_t>(chunk - first_[block])};
    send.count = static_cast<std::uint16_t>(count);
    batch.sends.push_back(std::move(send));
    batch.packets += count;
    pacer_.charge(std::uint64_t{count} * packet_bytes_);
    return count;
}

void Node::send_wanted(Instant now,
                       core::SendBatch& batch,
                       core::Destination to,
                       core::ChunkSet& wanted) {
    std::uint32_t chunk = wanted.next(0);
    while (chunk < wanted.capacity()) {
        if (!have_.has(chunk)) {
            chunk = wanted.next(chunk + 1);
            continue;
        }
        std::uint32_t count = 1;
        while (count < core::kTrainPacketsMax && wanted.has(chunk + count) &&
               have_.has(chunk + count)) {
            ++count;
        }
        const std::uint32_t sent = send(now, batch, to, chunk, count);
        if (sent == 0) {
            return;
        }
        for (std::uint32_t i = 0; i < sent; ++i) {
            wanted.remove(chunk + i);
        }
        chunk = wanted.next(chunk + sent);
    }
}

std::vector<std::byte> Node::missing(std::uint32_t below) const {
    wire::Request body;
    std::uint32_t chunk = have_.next_absent(0);
    while (chunk < below && body.runs.size() < wire::kMaxRuns) {
        const std::uint32_t block = block_of(chunk);
        const std::uint32_t end = std::min({have_.next(chunk), below, first_[block + 1]});
        body.runs.push_back({.block = BlockIndex{block},
                             .first = static_cast<std::uint16_t>(chunk - first_[block]),
                             .count = static_cast<std::uint16_t>(end - chunk)});
        chunk = have_.next_absent(end);
    }
    return wire::write(body);
}

void Node::for_each(Bytes body, const Visit& visit) const {
    const auto request = wire::read_request(body);
    if (!request) {
        return;
    }
    for (const wire::ChunkRun& run : request->runs) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            visit(first_[run.block.index()] + run.first + i);
        }
    }
}

PassSource::PassSource(const Plan& plan, std::uint16_t rank)
    : Node{plan, rank},
      repeats_{static_cast<std::uint32_t>(plan.chunks())},
      end_{{.first = kEndEvery, .max = kEndEvery}} {
}

void PassSource::work(Instant now) {
    if (end_.is_due(now)) {
        control_.push_group(wire::PacketType::end, {});
    }
}

void PassSource::fill(Instant now, core::SendBatch& batch) {
    send_wanted(now, batch, group(), repeats_);
    while (cursor_ < chunks() && repeats_.is_empty()) {
        const std::uint32_t sent = send(now, batch, group(), cursor_, chunks() - cursor_);
        if (sent == 0) {
            return;
        }
        cursor_ += sent;
    }
    if (cursor_ == chunks() && !end_.is_running()) {
        end_.start(now);
    }
}

}  // namespace stage::sim

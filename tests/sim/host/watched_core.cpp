#include "tests/sim/host/watched_core.h"

#include "tests/sim/host/newer.h"
#include "tests/sim/network/packets.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <utility>

namespace stage::sim {

WatchedCore::WatchedCore(std::unique_ptr<core::Core> core,
                         const Plan& plan,
                         std::uint16_t rank,
                         Object& object,
                         Complain complain)
    : core_{std::move(core)},
      plan_{plan},
      rank_{rank},
      object_{object},
      complain_{std::move(complain)},
      resident_(2 * plan.block_bytes.size()) {
    refresh();
}

/// The core may have changed the size of its packets.
void WatchedCore::refresh() {
    outcome_ = core_->outcome();
    if (outcome_.chunk_bytes != object_.cut()) {
        if (free_.size() != buffers_.size()) {
            complain_("chunks changed their size after some had come");
        }
        object_.recut(outcome_.chunk_bytes);
        ++did_.recut;
    }
    outcome_.chunk_bytes = object_.held_chunk_bytes();
}

void WatchedCore::on_datagrams(Instant now, std::span<const core::Datagram> datagrams) {
    leases_.clear();
    datagrams_.assign(datagrams.begin(), datagrams.end());
    for (core::Datagram& datagram : datagrams_) {
        const auto type = static_cast<std::size_t>(datagram.header.type);
        if (!datagram.header.is_data()) {
            ++heard_[type];
            heard_bytes_[type] += datagram.body_bytes + core::kWireOverheadBytes;
            continue;
        }
        leases_.push_back(1);
        if (object_.is_small()) {
            datagram.body_bytes = object_.chunk_bytes(datagram.header.block.value(),
                                                      datagram.header.chunk.value());
        }
    }
    core_->on_datagrams(now, datagrams_);
    refresh();
}

void WatchedCore::on_done(Instant now, std::span<const core::Completion> completions) {
    std::vector<core::Completion> done{completions.begin(), completions.end()};
    for (core::Completion& one : done) {
        if (one.kind != core::OperationKind::load || one.verdict != core::Verdict::good) {
            continue;
        }
        const std::uint32_t block = one.block.value();
        std::fill_n(make_resident(one.block).begin(), object_.chunks(block), std::uint8_t{1});
        one.descriptor.length = plan_.block_bytes[block];
        one.descriptor.wire_length = object_.is_hole(block) ? 0 : one.descriptor.length;
    }
    core_->on_done(now, done);
    refresh();
}

void WatchedCore::on_time(Instant now) {
    ++times_woken_;
    core_->on_time(now);
    refresh();
}

void WatchedCore::on_abort(Instant now, const Error& why) {
    core_->on_abort(now, why);
    refresh();
}

void WatchedCore::on_all_listen(Instant now) {
    core_->on_all_listen(now);
    refresh();
}

void WatchedCore::next_sends(Instant now, core::SendBatch& sends) {
    core_->next_sends(now, sends);
    refresh();
    for (core::Send& send : sends.sends) {
        watch(send);
    }
}

void WatchedCore::watch(core::Send& send) {
    if (send.packet_number <= last_number_ || send.count == 0) {
        complain_("a packet number was not new");
    }
    last_number_ = send.packet_number + send.count - 1;
    if (!send.to.to_group &&
        (send.to.peer.value() >= plan_.members || send.to.peer.value() == rank_)) {
        complain_("a packet was sent to no member");
    }
    if (send.count > kPacketsMax) {
        complain_("a train was longer than a kernel takes");
    }
    if (send.type == wire::PacketType::data) {
        for (std::size_t chunk = send.first.index(); chunk < send.first.index() + send.count;
             ++chunk) {
            if (!has(send.block, chunk)) {
                complain_("a chunk was sent that is not in memory");
            }
        }
        send.length = object_.is_small() ? std::min(send.length, object_.held_chunk_bytes())
                                         : send.length;
    }
    note(send);
    if (plan_.member[rank_].is_newer) {
        speak_newer(send);
    }
}

void WatchedCore::note(const core::Send& send) {
    did_.sent[static_cast<std::size_t>(send.type)] += send.count;
    switch (send.type) {
        case wire::PacketType::data:
            did_.repeated_to_group +=
                send.to.to_group && (send.flags & wire::kFlagRepeat) != 0 ? send.count : 0U;
            return;
        case wire::PacketType::lacking:
            did_.busy += (send.flags & wire::kFlagBusy) != 0 ? 1U : 0U;
            return;
        case wire::PacketType::ready:
            did_.called += heard_[static_cast<std::size_t>(wire::PacketType::offer)] == 0;
            return;
        case wire::PacketType::request: {
            const auto body = wire::read_request(send.body);
            did_.asked_descriptor += body && !body->runs.empty() && body->runs[0].count == 0;
            did_.asked_source += !send.to.to_group && send.to.peer.value() == plan_.source;
            return;
        }
        default:
            return;
    }
}

void WatchedCore::next_operations(Instant now, core::OperationBatch& operations) {
    codes_.clear();
    core_->next_operations(now, operations);
    refresh();
    for (core::Operation& operation : operations.operations) {
        watch(operation);
    }
    const bool has_ended = std::ranges::find(leases_, 1) == leases_.end();
    if (operations.operations.empty() && !has_ended) {
        complain_("a lease was not ended before the next datagrams");
    }
}

void WatchedCore::watch(core::Operation& operation) {
    ++did_.operations[static_cast<std::size_t>(operation.kind)];
    if (operation.kind == core::OperationKind::verify) {
        verified_.resize(std::max(verified_.size(), operation.block.index() + 1));
        did_.verified_again += verified_[operation.block.index()];
        verified_[operation.block.index()] = true;
    }
    switch (operation.kind) {
        case core::OperationKind::place:
            end_lease(operation);
            return place(operation);
        case core::OperationKind::drop:
            return end_lease(operation);
        case core::OperationKind::release:
            return release(operation.block);
        case core::OperationKind::encode:
            return encode(operation);
        case core::OperationKind::reconstruct:
            return reconstruct(operation);
        case core::OperationKind::load:
        case core::OperationKind::verify:
        case core::OperationKind::store:
            static_cast<void>(make_resident(operation.block));
            return use_small(operation);
        case core::OperationKind::finish:
        case core::OperationKind::connect:
        case core::OperationKind::hang_up:
            return;
    }
}

/// A descriptor of another block stays wrong.
void WatchedCore::use_small(core::Operation& operation) {
    wire::Descriptor& as = operation.descriptor;
    const std::uint32_t block = operation.block.value();
    if (operation.kind == core::OperationKind::load || !object_.is_small()) {
        return;
    }
    if (as.length != plan_.block_bytes[block] ||
        as.wire_length != (object_.is_hole(block) ? 0 : as.length)) {
        complain_("a block was verified or stored with another's descriptor");
    }
    as.length = object_.held_bytes(block);
    as.wire_length = as.wire_length > 0 ? as.length : 0;
}

void WatchedCore::end_lease(const core::Operation& operation) {
    const std::size_t lease = operation.ticket.index() - 1;
    if (lease >= leases_.size() || std::exchange(leases_[lease], std::uint8_t{0}) == 0) {
        complain_("a lease was ended that isn't one");
    }
}

void WatchedCore::place(const core::Operation& operation) {
    if (operation.block.index() >= resident_.size()) {
        return complain_("a chunk of no block was placed");
    }
    Chunks& chunks = make_resident(operation.block);
    if (operation.chunk.index() >= chunks.size()) {
        return complain_("a chunk was placed beyond its block");
    }
    if (std::exchange(chunks[operation.chunk.index()], std::uint8_t{1}) != 0) {
        complain_("a chunk was placed twice");
    }
}

void WatchedCore::release(BlockIndex block) {
    if (block.index() >= resident_.size() || resident_[block.index()] == 0) {
        return complain_("a block was released that is not resident");
    }
    free_.push_back(
        static_cast<std::uint16_t>(std::exchange(resident_[block.index()], 0) - 1U));
}

WatchedCore::Chunks& WatchedCore::make_resident(BlockIndex block) {
    std::uint16_t& place = resident_[block.index()];
    if (place == 0) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint16_t>(buffers_.size()));
            buffers_.emplace_back();
            if (buffers_.size() > plan_.resident_blocks + plan_.spill_blocks) {
                complain_("more blocks resident than allowed");
            }
        }
        const std::size_t chunks =
            std::max(kBlockBytes / object_.cut() + 1U, core::kSymbolsAndParitiesMax);
        buffers_[free_.back()].assign(chunks, 0);
        place = static_cast<std::uint16_t>(free_.back() + 1U);
        free_.pop_back();
    }
    return buffers_[place - 1U];
}

bool WatchedCore::has(BlockIndex block, std::size_t chunk) const {
    const std::uint16_t place =
        block.index() < resident_.size() ? resident_[block.index()] : std::uint16_t{0};
    return place != 0 && chunk < buffers_[place - 1U].size() &&
           chunk < object_.chunks(block.value()) && buffers_[place - 1U][chunk] != 0;
}

void WatchedCore::encode(core::Operation& operation) {
    const auto symbols = operation.code->symbols();
    if (!std::ranges::all_of(symbols, [this](const core::ParityCode::Symbol& symbol) {
            return has(symbol.block, symbol.chunk.index());
        })) {
        complain_("parities were made of what isn't here");
    }
    std::fill_n(
        make_resident(operation.block).begin(), operation.code->parities, std::uint8_t{1});
    use_small_code(operation);
}

void WatchedCore::reconstruct(core::Operation& operation) {
    const core::ParityCode& code = *operation.code;
    const auto symbols = code.symbols();
    bool can = code.with.size() == code.lost.size() &&
               std::ranges::all_of(code.with, [&](std::uint16_t parity) {
                   return has(operation.block, parity);
               });
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const bool is_lost = std::ranges::binary_search(code.lost, i);
        can = can && has(symbols[i].block, symbols[i].chunk.index()) == !is_lost;
    }
    if (!can) {
        complain_("a chunk was reconstructed that was there, or of what is not");
    }
    for (const std::uint16_t lost : code.lost) {
        make_resident(symbols[lost].block)[symbols[lost].chunk.index()] = 1;
    }
    reconstructed_ += code.lost.size();
    use_small_code(operation);
}

void WatchedCore::use_small_code(core::Operation& operation) {
    if (!object_.is_small()) {
        return;
    }
    core::ParityCode& code = codes_.emplace_back(*operation.code);
    const std::uint32_t cut = std::exchange(code.chunk_bytes, object_.held_chunk_bytes());
    for (std::uint32_t& length : code.wire_lengths) {
        length = (length + cut - 1) / cut * code.chunk_bytes;
    }
    operation.code = &code;
}

}  // namespace stage::sim

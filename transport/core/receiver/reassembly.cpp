#include "transport/core/receiver/reassembly.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage::core {
namespace {

/// Part of the resident blocks that one turn of a loop brings at most.
constexpr std::uint32_t kRoomPart = 8;
/// While more blocks are at the disk it is late, and what spills would make it later.
constexpr std::ptrdiff_t kSpillingAtDisk = 4;

}  // namespace

Reassembly::Reassembly(const CoreConfig& config, const Limits& limits)
    : config_{config},
      open_max_{config.resident_blocks + config.spill_blocks},
      bad_digests_max_{limits.repair.bad_digests_max},
      descriptors_max_{std::max(limits.descriptors_max, 2 * config.resident_blocks) +
                       config.spill_blocks},
      cut_{config.chunk_bytes},
      pool_{config.resident_blocks, config.spill_blocks} {
}

void Reassembly::begin(const ObjectShape& shape) {
    invariant(!has_begun(), "an object's shape is set once");
    map_.emplace(shape.blocks, cut_.chunks_max(), std::min(open_max_, shape.blocks));
    descriptors_.emplace(shape.blocks, descriptors_max_);
}

void Reassembly::hold_before(const std::vector<BlockRun>& runs, std::uint64_t bytes) {
    if (runs.empty()) {
        return;
    }
    before_.emplace(map_->blocks());
    for (const BlockRun& run : runs) {
        const std::uint64_t end = std::uint64_t{run.first.value()} + run.count;
        for (BlockIndex block = run.first;
             block.value() < std::min<std::uint64_t>(end, map_->blocks());
             ++block) {
            map_->hold_before(block);
            before_->add(block);
        }
    }
    descriptors_->advance(map_->first_unheld());
    bytes_held_ += bytes;
}

void Reassembly::drop(const Datagram& datagram) {
    operations_.push_drop(datagram.lease);
}

void Reassembly::end_sparing() {
    pool_.end_sparing();
    open_max_ = std::max(config_.resident_blocks,
                         has_begun() ? static_cast<std::uint32_t>(map_->open_count()) : 0U);
}

OpenBlock* Reassembly::on_data(const Datagram& datagram) {
    OpenBlock* open = has_begun() ? accept(datagram) : nullptr;
    if (open == nullptr) {
        drop(datagram);
        return nullptr;
    }
    open->have.add(datagram.header.chunk.value());
    ++placed_;
    Operation place;
    place.kind = OperationKind::place;
    place.ticket = datagram.lease;
    place.block = datagram.header.block;
    place.chunk = datagram.header.chunk;
    operations_.push_back(place);
    advance(*open);
    return open;
}

/// The open block that wants the chunk, or null.
OpenBlock* Reassembly::accept(const Datagram& datagram) {
    const BlockIndex block = datagram.header.block;
    if (!fits(datagram) || map_->is_held(block)) {
        return nullptr;
    }
    OpenBlock* found = map_->find(block);
    if (found == nullptr) {
        return open(block);
    }
    const bool is_wanted =
        found->state == OpenState::filling && !found->have.has(datagram.header.chunk.value());
    return is_wanted ? found : nullptr;
}

/// The chunk lies within its block, as far as that is known, and has its length.
bool Reassembly::fits(const Datagram& datagram) const {
    const BlockIndex block = datagram.header.block;
    const std::uint32_t chunk = datagram.header.chunk.value();
    const std::uint32_t bytes = datagram.body_bytes;
    if (block.value() >= map_->blocks() || chunk >= cut_.chunks_max() || bytes == 0) {
        return false;
    }
    if (descriptors_->knows(block)) {
        const std::uint32_t length = descriptors_->at(block).wire_length;
        return chunk < cut_.chunks(length) && bytes == cut_.length(length, chunk);
    }
    return bytes <= cut_.chunk_bytes() && chunk * cut_.chunk_bytes() + bytes <= kBlockBytes;
}

/// False if there is no room for another block, or it is too far ahead.
bool Reassembly::may_open(BlockIndex block) const {
    if (block.value() >= descriptors_->horizon() || pool_.contains(block) ||
        map_->open_count() >= open_max_) {
        return false;
    }
    return pool_.room() > 0 || map_->count_at_disk() <= kSpillingAtDisk;
}

OpenBlock* Reassembly::open(BlockIndex block) {
    if (!may_open(block) || !pool_.admit(block, operations_)) {
        return nullptr;
    }
    OpenBlock* open = map_->open(block);
    const auto bad = bad_digests_.find(block);
    open->bad_digests = bad != bad_digests_.end() ? bad->second : 0;
    if (descriptors_->knows(block)) {
        open->chunks = cut_.chunks(descriptors_->at(block).wire_length);
    }
    return open;
}

void Reassembly::on_describe(const wire::Describe& body) {
    if (!has_begun()) {
        return;
    }
    BlockIndex block = body.first;
    for (const wire::Descriptor& descriptor : body.descriptors) {
        if (descriptors_->learn(block, descriptor)) {
            on_learnt(block);
        }
        ++block;
    }
}

void Reassembly::on_learnt(BlockIndex block) {
    if (OpenBlock* known = map_->find(block); known != nullptr) {
        describe_open(*known);
    } else if (descriptors_->at(block).encoding == wire::Encoding::hole &&
               !map_->is_held(block)) {
        open_whole(block);
    }
}

/// Opens a block that is described, if there is room. Of a hole nothing more will come: to know
/// it is to have it.
bool Reassembly::open_whole(BlockIndex block) {
    OpenBlock* opened = open(block);
    if (opened != nullptr) {
        advance(*opened);
    }
    return opened != nullptr;
}

/// Chunks came before the descriptor did: now it is known how many there must be.
void Reassembly::describe_open(OpenBlock& open) {
    const wire::Descriptor& descriptor = descriptors_->at(open.block);
    open.chunks = cut_.chunks(descriptor.wire_length);
    if (open.have.next(open.chunks) < open.have.capacity()) {
        start_again(open.block);  // a peer sent a wrong chunk
        return;
    }
    advance(open);
}

/// Verifies a block that became complete; a hole has nothing to verify.
void Reassembly::advance(OpenBlock& open) {
    if (open.state != OpenState::filling || !descriptors_->knows(open.block)) {
        return;
    }
    if (descriptors_->at(open.block).encoding == wire::Encoding::hole) {
        open.state = OpenState::storing;
        order(OperationKind::store, open.block);
    } else if (open.is_complete()) {
        open.state = OpenState::verifying;
        order(OperationKind::verify, open.block);
    }
}

void Reassembly::order(OperationKind kind, BlockIndex block) {
    Operation operation;
    operation.kind = kind;
    operation.ticket = Ticket{next_ticket_++};
    operation.block = block;
    operation.descriptor = descriptors_->at(block);
    operations_.push_back(operation);
}

void Reassembly::start_again(BlockIndex block) {
    map_->close(block);
    pool_.release(block, operations_);
    closed_.push_back(block);
    absent_from_ = std::min(absent_from_, block.value());
}

Status Reassembly::on_done(const Completion& done) {
    OpenBlock* open = has_begun() ? map_->find(done.block) : nullptr;
    const auto expected =
        done.kind == OperationKind::verify ? OpenState::verifying : OpenState::storing;
    if (open == nullptr || open->state != expected) {
        return {};
    }
    if (done.verdict == Verdict::failed) {
        return done.why;
    }
    return done.kind == OperationKind::verify ? on_verified(done) : on_stored(done);
}

Status Reassembly::on_verified(const Completion& done) {
    if (done.verdict == Verdict::good) {
        map_->find(done.block)->state = OpenState::storing;
        order(OperationKind::store, done.block);
        return {};
    }
    descriptors_->forget(done.block);
    start_again(done.block);
    if (++bad_digests_[done.block] >= bad_digests_max_) {
        return Error{Blame::internal,
                     "block " + std::to_string(done.block.value()) +
                         " never had the digest that its source announced"};
    }
    return {};
}

Status Reassembly::on_stored(const Completion& done) {
    if (done.verdict != Verdict::good) {
        start_again(done.block);  // its place is not known yet, and too many such wait
        return {};
    }
    bytes_held_ += descriptors_->at(done.block).length;
    chunks_held_ += cut_.chunks(descriptors_->at(done.block).wire_length);
    map_->hold(done.block);
    descriptors_->advance(map_->first_unheld());
    pool_.settle(done.block);
    pool_.trim(operations_);
    closed_.push_back(done.block);
    bad_digests_.erase(done.block);
    return {};
}

void Reassembly::on_loaded(const Completion& done) {
    std::erase_if(loaded_, [this](const auto& each) { return !pool_.contains(each.first); });
    if (done.verdict == Verdict::good) {
        pool_.settle(done.block);
        if (!descriptors_->knows(done.block)) {
            loaded_[done.block] = done.descriptor;
        }
    } else {
        pool_.release(done.block, operations_);
        loaded_.erase(done.block);
    }
}

bool Reassembly::open_absent(Position settled, bool is_ended, bool is_swarm) {
    const std::uint32_t below =
        std::min(is_ended ? map_->blocks() : settled.block, descriptors_->horizon());
    // During the first pass, which needs room for itself, only half is used; the same in a
    // swarm, where peers request blocks that have to be read back.
    const std::size_t open_max =
        is_ended && !is_swarm ? config_.resident_blocks : config_.resident_blocks / 2;
    absent_from_ = map_->first_absent(absent_from_, below);
    std::uint32_t block = absent_from_;
    bool has_opened = false;
    for (std::size_t tried = 0; block < below && tried < config_.resident_blocks; ++tried) {
        // The very first missing block may always be opened: all others may depend on it.
        const bool is_first = map_->open_count() == 0 || block < map_->at(0).block.value();
        const bool is_described = descriptors_->knows(BlockIndex{block});
        if ((map_->open_count() >= open_max && !is_first) ||
            (is_described && !open_whole(BlockIndex{block}))) {
            break;
        }
        has_opened = has_opened || is_described;
        block = map_->first_absent(block + 1, below);
    }
    return has_opened;
}

bool Reassembly::open_all(std::uint32_t blocks) {
    for (BlockIndex block{0}; block.value() < blocks; ++block) {
        if (!map_->is_held(block) && map_->find(block) == nullptr && !open_whole(block)) {
            return false;
        }
    }
    return true;
}

void Reassembly::on_reconstructed(BlockIndex block, std::uint32_t chunk) {
    OpenBlock* open = map_->find(block);
    invariant(open != nullptr && open->state == OpenState::filling,
              "only what a block lacks is reconstructed");
    open->have.add(chunk);
    advance(*open);
}

bool Reassembly::is_first_at_disk() const {
    if (map_->open_count() == 0 || map_->at(0).state == OpenState::filling) {
        return false;
    }
    const std::uint32_t first = map_->at(0).block.value();
    return map_->first_absent(std::max(absent_from_, map_->first_unheld()), first) == first;
}

bool Reassembly::is_crowded() const {
    if (pool_.room() >= std::max(config_.resident_blocks / kRoomPart, 1U)) {
        return false;
    }
    return map_->count_at_disk() > (pool_.has_spare() ? kSpillingAtDisk : 0);
}

std::vector<BlockIndex> Reassembly::take_closed() {
    return std::exchange(closed_, {});
}

bool Reassembly::has(BlockIndex block, std::uint32_t chunk) const {
    if (!has_begun()) {
        return false;
    }
    if (map_->is_held(block)) {
        return pool_.is_clean(block) && chunk < chunks(block);
    }
    const OpenBlock* open = map_->find(block);
    return open != nullptr && open->have.has(chunk) &&
           (open->bad_digests == 0 || open->state == OpenState::storing);
}

bool Reassembly::can_load(BlockIndex block) const {
    return has_begun() && map_->is_held(block) && !was_held_before(block) &&
           !pool_.contains(block) && chunks(block) > 0;
}

bool Reassembly::is_absent(BlockIndex block) const {
    return config_.holds_already || was_held_before(block) ||
           (has_begun() && block.value() >= map_->blocks());
}

/// Null unless it is known, or known again.
const wire::Descriptor* Reassembly::descriptor_of(BlockIndex block) const {
    if (!has_begun()) {
        return nullptr;
    }
    if (descriptors_->knows(block)) {
        return &descriptors_->at(block);
    }
    const auto loaded = loaded_.find(block);
    return loaded != loaded_.end() && pool_.contains(block) ? &loaded->second : nullptr;
}

std::uint32_t Reassembly::chunks(BlockIndex block) const {
    if (const wire::Descriptor* known = descriptor_of(block); known != nullptr) {
        return cut_.chunks(known->wire_length);
    }
    // The disk knows the length of a block that was held long ago: at most this.
    const bool is_on_disk = has_begun() && map_->is_held(block) && !pool_.contains(block);
    const bool is_open = has_begun() && map_->find(block) != nullptr;
    return is_on_disk || is_open ? cut_.chunks_max() : 0;
}

std::vector<std::byte> Reassembly::describe(BlockIndex block, std::uint32_t count) const {
    const wire::Descriptor* known = descriptor_of(block);
    if (known == nullptr) {
        return {};
    }
    return descriptors_->knows(block)
               ? descriptors_->describe(block, count)
               : wire::write(wire::Describe{.first = block, .descriptors = {*known}});
}

}  // namespace stage::core

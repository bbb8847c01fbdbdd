#include "transport/core/relay/relay_stock.h"

#include <algorithm>

namespace stage::core {

RelayStock::RelayStock(const CoreConfig& config,
                       const ObjectShape& shape,
                       const RelayLimits& limits)
    : cut_{config.chunk_bytes},
      blocks_{shape.blocks},
      pool_{config.resident_blocks},
      descriptors_{
          shape.blocks, std::max(limits.descriptors_max, config.resident_blocks), pool_} {
}

void RelayStock::order_loads(std::uint32_t below,
                             OperationQueue& operations,
                             std::uint64_t& next_ticket) {
    while (wants_loads(below) && pool_.admit(BlockIndex{next_read_}, operations)) {
        Operation load;
        load.kind = OperationKind::load;
        load.ticket = Ticket{next_ticket++};
        load.block = BlockIndex{next_read_++};
        operations.push_back(load);
    }
}

bool RelayStock::wants_loads(std::uint32_t below) const {
    return next_read_ < std::min(below, blocks_) && pool_.has_room();
}

Result<std::uint64_t> RelayStock::on_loaded(const Completion& done) {
    const bool is_first = !descriptors_.was_read(done.block);
    if (done.verdict == Verdict::bad_digest || done.descriptor.length == 0 ||
        !descriptors_.on_read(done.block, done.descriptor)) {
        return Error{Blame::user, "what is staged changed while it was read"};
    }
    pool_.settle(done.block);
    if (!is_first) {
        return std::uint64_t{0};
    }
    ++read_;
    return std::uint64_t{done.descriptor.length};
}

bool RelayStock::has(BlockIndex block, std::uint32_t chunk) const {
    return pool_.is_clean(block) && chunk < chunks(block);
}

/// A block that was not read yet is read in its turn.
bool RelayStock::can_load(BlockIndex block) const {
    return descriptors_.was_read(block) && !pool_.contains(block);
}

bool RelayStock::is_absent(BlockIndex block) const {
    return block.value() >= blocks_;
}

std::uint32_t RelayStock::chunks(BlockIndex block) const {
    if (const wire::Descriptor* const known = descriptors_.find(block)) {
        return cut_.chunks(known->wire_length);
    }
    return descriptors_.was_read(block) ? cut_.chunks_max() : 0;  // At most.
}

std::vector<std::byte> RelayStock::describe(BlockIndex block, std::uint32_t count) const {
    return descriptors_.describe(block, count);
}

}  // namespace stage::core

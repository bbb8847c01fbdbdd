#include "transport/core/relay/relay_stock.h"

#include <algorithm>

namespace stage::core {

RelayStock::RelayStock(const CoreConfig& config, const ObjectShape& shape)
    : cut_{config.chunk_bytes},
      blocks_{shape.blocks},
      descriptors_{shape.blocks, shape.blocks},
      pool_{config.resident_blocks} {
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
    const bool is_first = !descriptors_.knows(done.block);
    const bool is_same = is_first || descriptors_.at(done.block) == done.descriptor;
    if (done.verdict == Verdict::bad_digest || !is_same || done.descriptor.length == 0) {
        return Error{Blame::user, "what is staged changed while it was read"};
    }
    pool_.settle(done.block);
    if (!is_first) {
        return std::uint64_t{0};
    }
    descriptors_.learn(done.block, done.descriptor);
    ++read_;
    return std::uint64_t{done.descriptor.length};
}

bool RelayStock::has(BlockIndex block, std::uint32_t chunk) const {
    return pool_.is_clean(block) && chunk < chunks(block);
}

/// A block that was not read yet is read in its turn.
bool RelayStock::can_load(BlockIndex block) const {
    return descriptors_.knows(block) && !pool_.contains(block);
}

bool RelayStock::is_absent(BlockIndex block) const {
    return block.value() >= blocks_;
}

std::uint32_t RelayStock::chunks(BlockIndex block) const {
    return descriptors_.knows(block) ? cut_.chunks(descriptors_.at(block).wire_length) : 0;
}

std::vector<std::byte> RelayStock::describe(BlockIndex block, std::uint32_t count) const {
    return descriptors_.describe(block, count);
}

}  // namespace stage::core

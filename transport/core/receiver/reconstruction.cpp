#include "transport/core/receiver/reconstruction.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace stage::core {

void Reconstruction::begin(std::uint32_t blocks, std::uint8_t parities) {
    if (parities > 0 && has_room_for_parities(config_, blocks)) {
        blocks_ = blocks;
        parities_ = parities;
        have_ = ChunkSet{parities};
    }
}

void Reconstruction::on_parity(const Datagram& datagram, Reassembly& reassembly) {
    if (!accept(datagram, reassembly)) {
        reassembly.drop(datagram);
        return;
    }
    have_.add(datagram.header.chunk.value());
    Operation place;
    place.kind = OperationKind::place;
    place.ticket = datagram.lease;
    place.block = datagram.header.block;
    place.chunk = datagram.header.chunk;
    reassembly.operations().push_back(place);
}

bool Reconstruction::accept(const Datagram& datagram, Reassembly& reassembly) {
    const std::uint32_t chunk = datagram.header.chunk.value();
    const bool is_wanted = !is_closed_ && chunk < parities_ && !have_.has(chunk) &&
                           datagram.body_bytes > 0 &&
                           datagram.body_bytes <= config_.chunk_bytes &&
                           (have_.is_empty() || datagram.body_bytes == parity_bytes_);
    if (!is_wanted || (have_.is_empty() && !reassembly.pool().admit(datagram.header.block,
                                                                    reassembly.operations()))) {
        return false;
    }
    parity_bytes_ = datagram.body_bytes;
    return true;
}

bool Reconstruction::poll(Reassembly& reassembly) {
    if (have_.is_empty() || is_closed_) {
        return false;
    }
    if (reassembly.map().holds_all()) {
        close(reassembly);
        return false;
    }
    auto code = missing(reassembly);
    if (!code || !reassembly.open_all(blocks_)) {
        return false;
    }
    const auto symbols = code->symbols();
    std::vector<ParityCode::Symbol> lost;
    for (const std::uint16_t symbol : code->lost) {
        lost.push_back(symbols[symbol]);
    }
    Operation reconstruct;
    reconstruct.kind = OperationKind::reconstruct;
    reconstruct.block = BlockIndex{blocks_};
    code_ = std::make_unique<const ParityCode>(*std::move(code));
    reconstruct.code = code_.get();
    reassembly.operations().push_back(reconstruct);
    close(reassembly);
    for (const ParityCode::Symbol& symbol : lost) {
        reassembly.on_reconstructed(symbol.block, symbol.chunk.value());
    }
    return true;
}

/// Records which of the block's chunks, the first of which is `symbol`, are missing. False if
/// the other chunks are not all in memory.
bool Reconstruction::note_missing(Reassembly& reassembly,
                                  BlockIndex block,
                                  std::uint32_t symbol,
                                  ParityCode& code) const {
    const std::uint32_t chunks = reassembly.chunks(block);
    const OpenBlock* open = reassembly.map().find(block);
    const bool is_filling = open != nullptr && open->state == OpenState::filling;
    const bool is_absent = open == nullptr && !reassembly.map().is_held(block);
    if (chunks > 0 && !is_absent && !reassembly.pool().contains(block)) {
        return false;
    }
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        if (is_absent || (is_filling && !open->have.has(chunk))) {
            code.lost.push_back(static_cast<std::uint16_t>(symbol + chunk));
        }
    }
    return code.lost.size() <= have_.count();
}

std::optional<ParityCode> Reconstruction::missing(Reassembly& reassembly) const {
    ParityCode code;
    code.chunk_bytes = config_.chunk_bytes;
    code.parities = parities_;
    std::uint32_t symbol = 0;
    for (std::uint32_t index = 0; index < blocks_; ++index) {
        const BlockIndex block{index};
        if (!reassembly.descriptors().knows(block) ||
            !note_missing(reassembly, block, symbol, code)) {
            return std::nullopt;
        }
        symbol += reassembly.chunks(block);
        code.wire_lengths.push_back(reassembly.descriptors().at(block).wire_length);
    }
    if (code.lost.empty() || code.symbol_bytes() != parity_bytes_ ||
        symbol + parities_ > kSymbolsAndParitiesMax) {
        return std::nullopt;
    }
    for (std::uint32_t at = have_.next(0); code.with.size() < code.lost.size();
         at = have_.next(at + 1)) {
        code.with.push_back(static_cast<std::uint16_t>(at));
    }
    return code;
}

/// Reconstruction is tried once: if its result has a wrong digest, the missing chunks are
/// requested.
void Reconstruction::close(Reassembly& reassembly) {
    is_closed_ = true;
    reassembly.pool().release(BlockIndex{blocks_}, reassembly.operations());
}

}  // namespace stage::core

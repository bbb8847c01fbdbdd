#include "stager/files/sink/source_and_sink.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace stage {
namespace {

/// Until it is asked again whether a block has come.
constexpr auto kComingWait = std::chrono::milliseconds{2};

}  // namespace

Result<SourceBlock> SourceAndSink::read(BlockIndex block, MutableBytes room) {
    if (const auto leaf = sink_.read_filled(block, room)) {
        next_ = std::max(next_, block.value() + 1);
        return SourceBlock{.length = source_.block_length(block), .leaf = *leaf};
    }
    Result<SourceBlock> got = source_.read(block, room);
    if (block.value() < next_) {
        return got ? std::move(got) : from_sink(block, room, std::move(got).error());
    }
    if (!got) {
        return got;
    }
    // First reads come in order, so the manifest is placed before any file's block.
    TRY(const auto placing, sink_.write(block, room.first(got->length), got->leaf));
    invariant(placing != Placing::deferred, "the manifest's blocks are read first");
    next_ = block.value() + 1;
    return got;
}

/// A file that changed after it was read is still here as it was.
Result<SourceBlock> SourceAndSink::from_sink(BlockIndex block, MutableBytes room, Error why) {
    const std::uint32_t length = source_.block_length(block);
    const MutableBytes bytes = room.first(length);
    if (!sink_.read_back(block, 0, bytes)) {
        return why;
    }
    return SourceBlock{.length = length, .leaf = xxh3_128(bytes)};
}

Status SourceAndSink::finish() {
    if (Status done = source_.finish(); !done) {
        return done;
    }
    return sink_.finish();
}

Status copy_alone(SourceAndSink& object, const std::function<Status()>& look) {
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; i < object.block_count(); ++i) {
        if (object.holds(BlockIndex{i})) {
            continue;
        }
        TRY(look());
        while (!object.is_here(BlockIndex{i})) {
            std::this_thread::sleep_for(kComingWait);
            TRY(look());
        }
        TRY(object.read(BlockIndex{i}, room));
    }
    return object.finish();
}

}  // namespace stage

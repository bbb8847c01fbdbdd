#include "stager/files/source_and_sink.h"

#include <vector>

namespace stage {

Result<std::uint32_t> SourceAndSink::read(BlockIndex block, MutableBytes room) {
    Result<std::uint32_t> length = source_.read(block, room);
    if (!length || block.value() < next_) {
        return length;
    }
    // First reads come in order, so the manifest is placed before any file's block.
    const Result<Placing> placing =
        sink_.write(block, room.first(*length), xxh3_128(room.first(*length)));
    if (!placing) {
        return placing.error();
    }
    invariant(*placing != Placing::deferred, "the manifest's blocks are read first");
    next_ = block.value() + 1;
    return length;
}

Status SourceAndSink::finish() {
    if (Status done = source_.finish(); !done) {
        return done;
    }
    return sink_.finish();
}

Status copy_alone(SourceAndSink& object) {
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; i < object.block_count(); ++i) {
        const Result<std::uint32_t> length = object.read(BlockIndex{i}, room);
        if (!length) {
            return length.error();
        }
    }
    return object.finish();
}

}  // namespace stage

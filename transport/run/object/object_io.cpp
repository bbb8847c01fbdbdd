#include "transport/run/object/object_io.h"

#include "transport/base/checksum.h"
#include "transport/base/invariant.h"
#include "transport/os/clock.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace stage {
namespace {

core::Completion completion_of(const core::Operation& operation) {
    core::Completion completion;
    completion.ticket = operation.ticket;
    completion.kind = operation.kind;
    completion.block = operation.block;
    return completion;
}

core::Completion failed(const core::Operation& operation, Error why) {
    auto completion = completion_of(operation);
    completion.verdict = core::Verdict::failed;
    completion.why = std::move(why);
    return completion;
}

core::Completion checked(const core::Operation& operation, bool right) {
    auto completion = completion_of(operation);
    completion.verdict = right ? core::Verdict::good : core::Verdict::bad_digest;
    return completion;
}

core::Completion of_status(const core::Operation& operation, Status status) {
    return status ? completion_of(operation) : failed(operation, std::move(status).error());
}

/// 64 KiB are hashed in some 5 us.
constexpr std::uint32_t kAtOnceBytesMax = 64U << 10U;
/// Less is not worth a decision.
constexpr std::uint32_t kShortenBytesMin = 128U << 10U;

/// All zeros: the first byte is, and each equals the next.
bool is_hole(Bytes bytes) {
    return bytes[0] == std::byte{0} &&
           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

wire::Descriptor describe(Bytes bytes, const Digest128& leaf) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    const bool hole = is_hole(bytes);
    return {.length = length,
            .wire_length = hole ? 0 : length,
            .encoding = hole ? wire::Encoding::hole : wire::Encoding::raw,
            .leaf = leaf};
}

}  // namespace

std::optional<core::Completion> verify_at_once(const core::Operation& operation, Bytes buffer) {
    const wire::Descriptor& as = operation.descriptor;
    if (operation.kind != core::OperationKind::verify || as.encoding != wire::Encoding::raw ||
        as.length > kAtOnceBytesMax) {
        return std::nullopt;
    }
    return checked(operation, xxh3_128(buffer.first(as.length)) == as.leaf);
}

Performed SourceIo::perform(const core::Operation& operation, MutableBytes buffer) {
    if (operation.kind == core::OperationKind::finish) {
        return {.completion = of_status(operation, source_.finish())};
    }
    invariant(operation.kind == core::OperationKind::load, "a source only loads and finishes");
    if (!source_.is_here(operation.block)) {
        return {.completion = completion_of(operation), .again = true};
    }
    return {.completion = load(operation, buffer)};
}

core::Completion SourceIo::load(const core::Operation& operation, MutableBytes buffer) {
    CompressionPolicy::Loaded loaded;
    loaded.begin = read_clock();
    auto block = source_.read(operation.block, buffer);
    if (!block) {
        return failed(operation, std::move(block).error());
    }
    auto completion = completion_of(operation);
    wire::Descriptor& as = completion.descriptor;
    as = describe(buffer.first(block->length), block->leaf);
    loaded.read = read_clock();
    const std::size_t index = operation.block.index();
    ways_.resize(std::max(ways_.size(), index + 1));
    const bool is_first = ways_[index] == Way::open;
    // Small ones are protected by parities, and holes can't be shorter.
    const bool can =
        may_shorten_ && as.encoding == wire::Encoding::raw && as.length >= kShortenBytesMin;
    loaded.was_tried = can && (is_first ? choice_.wants_next() : ways_[index] == Way::shorter);
    const bool is_shorter = loaded.was_tried && shorten(buffer, as);
    if (!is_shorter && ways_[index] == Way::shorter) {
        return failed(operation, Error{Blame::internal, "a block can't be compressed again"});
    }
    if (is_first) {
        ways_[index] = is_shorter ? Way::shorter : Way::whole;
        loaded.end = read_clock();
        loaded.bytes = as.length;
        loaded.sent = as.wire_length;
        choice_.tell(loaded);
        shortened_.blocks += is_shorter ? 1 : 0;
        shortened_.bytes += is_shorter ? as.length : 0;
        shortened_.bytes_sent += is_shorter ? as.wire_length : 0;
    }
    return completion;
}

/// In place, if that is worth it.
bool SourceIo::shorten(MutableBytes block, wire::Descriptor& as) {
    const Bytes shorter = codec_.shorten(block.first(as.length));
    if (shorter.empty()) {
        return false;
    }
    std::ranges::copy(shorter, block.begin());
    as.encoding = wire::Encoding::zstd;
    as.wire_length = static_cast<std::uint32_t>(shorter.size());
    return true;
}

Performed SinkIo::perform(const core::Operation& operation, MutableBytes buffer) {
    switch (operation.kind) {
        case core::OperationKind::verify: {
            const bool is_shorter = operation.descriptor.encoding == wire::Encoding::zstd;
            const bool is_whole = !is_shorter || restore(operation, buffer);
            const Bytes bytes =
                is_shorter ? Bytes{whole_} : buffer.first(operation.descriptor.length);
            return {.completion = checked(
                        operation, is_whole && xxh3_128(bytes) == operation.descriptor.leaf)};
        }
        case core::OperationKind::store:
            return store(operation, buffer);
        case core::OperationKind::load:
            return {.completion = load(operation, buffer)};
        case core::OperationKind::finish:
            if (!sink_.may_finish()) {
                return {.completion = completion_of(operation), .again = true};
            }
            return {.completion = of_status(operation, sink_.finish())};
        case core::OperationKind::place:
        case core::OperationKind::drop:
        case core::OperationKind::release:
        case core::OperationKind::encode:
        case core::OperationKind::reconstruct:
        case core::OperationKind::connect:
        case core::OperationKind::hang_up:
            break;
    }
    invariant(false, "the disk is asked only for what touches it");
    return {};
}

/// What was compressed, into whole_.
bool SinkIo::restore(const core::Operation& operation, Bytes buffer) {
    const wire::Descriptor& as = operation.descriptor;
    whole_.resize(as.length);
    whole_of_ = operation.block;
    const bool is_whole = codec_.restore(buffer.first(as.wire_length), whole_);
    if (!is_whole) {
        whole_.clear();
    }
    return is_whole;
}

Performed SinkIo::store(const core::Operation& operation, MutableBytes buffer) {
    MutableBytes bytes = buffer.first(operation.descriptor.length);
    Digest128 sent{};                            // Of a compressed block.
    Digest128 leaf = operation.descriptor.leaf;  // it was verified
    if (operation.descriptor.encoding == wire::Encoding::hole) {
        // Nothing came of it, and a buffer keeps what its last block left there.
        std::ranges::fill(bytes, std::byte{0});
        leaf = xxh3_128(bytes);
    }
    if (operation.descriptor.encoding == wire::Encoding::zstd) {
        sent = xxh3_128(buffer.first(operation.descriptor.wire_length));
        const bool is_here = !whole_.empty() && whole_of_ == operation.block;
        if (!is_here && !restore(operation, buffer)) {
            return {.completion = checked(operation, false)};
        }
        bytes = whole_;
    }
    auto placing = sink_.write(operation.block, bytes, leaf);
    if (!placing) {
        return {.completion = failed(operation, std::move(placing).error())};
    }
    if (*placing == Placing::deferred) {
        return {.completion = completion_of(operation), .again = true};
    }
    if (*placing == Placing::placed) {
        stored_.add(operation.block, operation.descriptor, sent);
    }
    return {.completion = completion_of(operation)};
}

/// Back from disk, to repair a peer. Whatever goes wrong only means "I don't have it".
core::Completion SinkIo::load(const core::Operation& operation, MutableBytes buffer) {
    auto stored = stored_.find(operation.block);
    if (!stored) {
        return checked(operation, false);
    }
    auto completion = checked(operation, load_into(operation, *stored, buffer));
    completion.descriptor = *stored;
    return completion;
}

/// Completes the descriptor `as` with the digest of what was read.
bool SinkIo::load_into(const core::Operation& operation,
                       wire::Descriptor& as,
                       MutableBytes buffer) {
    const MutableBytes room = buffer.first(as.length);
    if (!sink_.read_back(operation.block, 0, room).ok()) {
        return false;
    }
    as.leaf = xxh3_128(room);
    if (as.encoding != wire::Encoding::zstd) {
        return stored_.matches(operation.block, as.leaf, {});
    }
    // Another zstd than the source's may produce other bytes: then this member lacks the block.
    const Bytes shorter = codec_.shorten(room);
    if (shorter.size() != as.wire_length ||
        !stored_.matches(operation.block, as.leaf, xxh3_128(shorter))) {
        return false;
    }
    std::ranges::copy(shorter, buffer.begin());
    return true;
}

}  // namespace stage

#include "transport/run/object_io.h"

#include "transport/base/checksum.h"
#include "transport/base/invariant.h"

#include <algorithm>
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

/// All zeros: the first byte is, and each equals the next.
bool is_hole(Bytes bytes) {
    return bytes[0] == std::byte{0} &&
           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

wire::Descriptor describe(Bytes bytes) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    const bool hole = is_hole(bytes);
    return {.length = length,
            .wire_length = hole ? 0 : length,
            .encoding = hole ? wire::Encoding::hole : wire::Encoding::raw,
            .leaf = xxh3_128(bytes)};
}

}  // namespace

Performed SourceIo::perform(const core::Operation& operation, MutableBytes buffer) {
    if (operation.kind == core::OperationKind::finish) {
        return {.completion = of_status(operation, source_.finish())};
    }
    invariant(operation.kind == core::OperationKind::load, "a source only loads and finishes");
    auto length = source_.read(operation.block, buffer);
    if (!length) {
        return {.completion = failed(operation, std::move(length).error())};
    }
    auto completion = completion_of(operation);
    completion.descriptor = describe(buffer.first(*length));
    return {.completion = std::move(completion)};
}

Performed SinkIo::perform(const core::Operation& operation, MutableBytes buffer) {
    switch (operation.kind) {
        case core::OperationKind::verify: {
            const Bytes bytes = buffer.first(operation.descriptor.length);
            return {.completion =
                        checked(operation, xxh3_128(bytes) == operation.descriptor.leaf)};
        }
        case core::OperationKind::store:
            return store(operation, buffer);
        case core::OperationKind::load:
            return {.completion = load(operation, buffer)};
        case core::OperationKind::finish:
            return {.completion = of_status(operation, sink_.finish())};
        case core::OperationKind::place:
        case core::OperationKind::drop:
        case core::OperationKind::release:
            break;
    }
    invariant(false, "the disk is asked only for what touches it");
    return {};
}

Performed SinkIo::store(const core::Operation& operation, MutableBytes buffer) {
    const MutableBytes bytes = buffer.first(operation.descriptor.length);
    Digest128 leaf = operation.descriptor.leaf;  // it was verified
    if (operation.descriptor.encoding == wire::Encoding::hole) {
        // Nothing came of it, and a buffer keeps what its last block left there.
        std::ranges::fill(bytes, std::byte{0});
        leaf = xxh3_128(bytes);
    }
    auto placing = sink_.write(operation.block, bytes, leaf);
    if (!placing) {
        return {.completion = failed(operation, std::move(placing).error())};
    }
    if (*placing == Placing::deferred) {
        return {.completion = completion_of(operation), .again = true};
    }
    if (*placing == Placing::placed) {
        const std::size_t index = operation.block.index();
        stored_.resize(std::max(stored_.size(), index + 1));
        stored_[index] = operation.descriptor;
    }
    return {.completion = completion_of(operation)};
}

/// Back from disk, to repair a peer. Whatever goes wrong only means "I don't have it".
core::Completion SinkIo::load(const core::Operation& operation, MutableBytes buffer) {
    const std::size_t index = operation.block.index();
    if (index >= stored_.size() || stored_[index].length == 0) {
        return checked(operation, false);
    }
    const wire::Descriptor& descriptor = stored_[index];
    const MutableBytes room = buffer.first(descriptor.length);
    const bool right =
        sink_.read_back(operation.block, 0, room).ok() && xxh3_128(room) == descriptor.leaf;
    auto completion = checked(operation, right);
    completion.descriptor = descriptor;
    return completion;
}

}  // namespace stage

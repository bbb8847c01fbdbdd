#include "transport/run/memory/memory_disk.h"

#include "transport/base/checksum.h"

#include <utility>

namespace stage {
namespace {

core::Completion failed(core::Completion done, const char* why) {
    done.verdict = core::Verdict::failed;
    done.why = Error{Blame::user, why};
    return done;
}

constexpr const char* kOtherSize = "the source's object has another size than this member's";

}  // namespace

std::optional<core::Completion> MemoryDisk::submit(const core::Operation& operation,
                                                   MutableBytes buffer) {
    core::Completion done;
    done.ticket = operation.ticket;
    done.kind = operation.kind;
    done.block = operation.block;
    switch (operation.kind) {
        case core::OperationKind::load:
            done_.push_back(load(std::move(done), buffer));
            break;
        case core::OperationKind::verify:
            done_.push_back(verify(operation, std::move(done), buffer));
            break;
        case core::OperationKind::store:
            descriptors_.insert_or_assign(operation.block.value(), operation.descriptor);
            done_.push_back(std::move(done));
            break;
        default:
            done_.push_back(finish(std::move(done)));
    }
    return std::nullopt;
}

std::vector<core::Completion> MemoryDisk::take() {
    return std::exchange(done_, {});
}

/// A source's block, or one that a peer asks for again.
core::Completion MemoryDisk::load(core::Completion done, Bytes buffer) {
    const auto known = descriptors_.find(done.block.value());
    if (known != descriptors_.end()) {
        done.descriptor = known->second;
        return done;
    }
    if (!is_source_) {
        return failed(std::move(done), "a block that is not here was to be read");
    }
    const auto length = static_cast<std::uint32_t>(buffer.size());
    done.descriptor = {.length = length,
                       .wire_length = length,
                       .encoding = wire::Encoding::raw,
                       .leaf = xxh3_128(buffer)};
    descriptors_.emplace(done.block.value(), done.descriptor);
    return done;
}

core::Completion MemoryDisk::verify(const core::Operation& operation,
                                    core::Completion done,
                                    Bytes buffer) const {
    const wire::Descriptor& as = operation.descriptor;
    if (operation.block.value() >= blocks_ || as.length != buffer.size() ||
        as.encoding != wire::Encoding::raw) {
        return failed(std::move(done), kOtherSize);
    }
    if (xxh3_128(buffer) != as.leaf) {
        done.verdict = core::Verdict::bad_digest;
    }
    return done;
}

core::Completion MemoryDisk::finish(core::Completion done) const {
    return descriptors_.size() == blocks_ ? std::move(done)
                                          : failed(std::move(done), kOtherSize);
}

}  // namespace stage

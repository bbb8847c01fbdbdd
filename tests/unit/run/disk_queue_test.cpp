#include "transport/run/object/disk_queue.h"

#include <catch2/catch.hpp>

#include <poll.h>

#include <algorithm>
#include <map>

namespace stage {
namespace {

constexpr int kWaitMs = 20'000;

core::Operation operation_of(core::OperationKind kind, std::uint32_t block) {
    core::Operation operation;
    operation.kind = kind;
    operation.ticket = core::Ticket{block + 1};
    operation.block = BlockIndex{block};
    return operation;
}

/// Defers what a sink does whose manifest is in the first blocks: these until block 0 was
/// stored, and all others until they were.
class ManifestFirst final : public ObjectIo {
  public:
    explicit ManifestFirst(std::uint32_t manifest_blocks = 1)
        : blocks_{manifest_blocks}, lacks_{manifest_blocks} {}

    Performed perform(const core::Operation& operation, MutableBytes) override {
        Performed performed;
        performed.completion.ticket = operation.ticket;
        performed.completion.kind = operation.kind;
        performed.completion.block = operation.block;
        const std::uint32_t block = operation.block.value();
        performed.again = block != 0 && (!has_first_ || (block >= blocks_ && lacks_ > 0));
        has_first_ = has_first_ || block == 0;
        lacks_ -= !performed.again && block < blocks_ ? 1 : 0;
        return performed;
    }

  private:
    std::uint32_t blocks_;  ///< Of the manifest,
    std::uint32_t lacks_;   ///< and how many of these were not stored yet.
    bool has_first_ = false;
};

std::map<std::uint32_t, core::Verdict> collect(DiskQueue& queue, std::size_t count) {
    std::map<std::uint32_t, core::Verdict> verdicts;
    while (verdicts.size() < count) {
        pollfd wait{.fd = queue.event_fd(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&wait, 1, kWaitMs) == 1);
        for (const core::Completion& done : queue.take()) {
            verdicts[done.block.value()] = done.verdict;
        }
    }
    return verdicts;
}

TEST_CASE("blocks that came before the manifest are stored once it is there") {
    ManifestFirst object;
    DiskQueue queue{object, 4};
    for (const std::uint32_t block : {3U, 2U, 0U, 1U}) {
        static_cast<void>(queue.submit(operation_of(core::OperationKind::store, block), {}));
    }
    const auto verdicts = collect(queue, 4);
    CHECK(std::ranges::all_of(
        verdicts, [](const auto& entry) { return entry.second == core::Verdict::good; }));
    CHECK(queue.under_way() == 0);
}

// Block 2 was tried again before block 1 had its place, and then never again.
TEST_CASE("blocks that came before all of a long manifest are stored once that is there") {
    ManifestFirst object{2};
    DiskQueue queue{object, 4};
    for (const std::uint32_t block : {2U, 1U, 0U}) {
        static_cast<void>(queue.submit(operation_of(core::OperationKind::store, block), {}));
    }
    CHECK(collect(queue, 3).size() == 3);
}

TEST_CASE("more deferred blocks than the bound are given back to be fetched again") {
    ManifestFirst object;
    DiskQueue queue{object, 2};
    for (const std::uint32_t block : {5U, 6U, 7U}) {
        static_cast<void>(queue.submit(operation_of(core::OperationKind::store, block), {}));
    }
    const auto refused = collect(queue, 1);
    CHECK(refused == std::map<std::uint32_t, core::Verdict>{{7U, core::Verdict::bad_digest}});
    CHECK(queue.under_way() == 2);
    static_cast<void>(queue.submit(operation_of(core::OperationKind::store, 0), {}));
    const auto rest = collect(queue, 3);
    CHECK(rest.size() == 3);
    CHECK(rest.at(5) == core::Verdict::good);
}

TEST_CASE("a queue with work left ends without waiting for it to be asked for") {
    ManifestFirst object;
    DiskQueue queue{object, 8};
    for (std::uint32_t block = 1; block < 8; ++block) {
        static_cast<void>(queue.submit(operation_of(core::OperationKind::store, block), {}));
    }
    CHECK(queue.under_way() == 7);
}

}  // namespace
}  // namespace stage

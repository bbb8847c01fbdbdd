#include "transport/run/object/disk_queue.h"

#include <catch2/catch.hpp>

#include <poll.h>

#include <algorithm>
#include <atomic>
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

/// Defers every block until block 0 was stored, as a sink does whose manifest is in block 0.
class ManifestFirst final : public ObjectIo {
  public:
    Performed perform(const core::Operation& operation, MutableBytes) override {
        ++performed_;
        Performed performed;
        performed.completion.ticket = operation.ticket;
        performed.completion.kind = operation.kind;
        performed.completion.block = operation.block;
        has_manifest_ = has_manifest_ || operation.block == BlockIndex{0};
        performed.again = !has_manifest_;
        return performed;
    }

    [[nodiscard]] int performed() const { return performed_; }

  private:
    bool has_manifest_ = false;
    std::atomic<int> performed_ = 0;
};

void submit(DiskQueue& queue, std::initializer_list<std::uint32_t> blocks) {
    for (const std::uint32_t block : blocks) {
        CHECK_FALSE(
            queue.submit(operation_of(core::OperationKind::store, block), {}).has_value());
    }
}

bool is_readable(const DiskQueue& queue, int wait_ms) {
    pollfd wait{.fd = queue.event_fd(), .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, wait_ms) == 1;
}

std::map<std::uint32_t, core::Verdict> collect(DiskQueue& queue, std::size_t count) {
    std::map<std::uint32_t, core::Verdict> verdicts;
    while (verdicts.size() < count) {
        REQUIRE(is_readable(queue, kWaitMs));
        for (const core::Completion& done : queue.take()) {
            verdicts[done.block.value()] = done.verdict;
        }
    }
    return verdicts;
}

TEST_CASE("a disk's thread performs what is submitted, and tells of it") {
    ManifestFirst object;
    DiskQueue queue{object, 4};
    CHECK(queue.take().empty());
    for (std::uint32_t round = 0; round < 50; ++round) {
        submit(queue, {4 * round + 3, 4 * round + 2, 0, 4 * round + 1});
        const auto verdicts = collect(queue, 4);
        CHECK(std::ranges::all_of(
            verdicts, [](const auto& entry) { return entry.second == core::Verdict::good; }));
        CHECK_FALSE(is_readable(queue, 0));
    }
}

TEST_CASE("a queue with work left ends without waiting for it to be asked for") {
    ManifestFirst object;
    {
        DiskQueue queue{object, 8};
        submit(queue, {1, 2, 3, 4, 5, 6, 7});
    }
    CHECK(object.performed() <= 7);
}

}  // namespace
}  // namespace stage

// Tests that a receiver's core needs as much memory for a terabyte as for a gigabyte.
#include "tests/unit/core/heap_bytes.h"
#include "tests/unit/core/parts.h"
#include "transport/core/base/chunk_map.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/receiver/receiver.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::size_t kCoreBytesMax = 64U << 10U;

/// A receiver that gets everything in order, from a source that doesn't exist.
class Fed {
  public:
    explicit Fed(std::uint32_t blocks) : before_{heap_bytes()} {
        config_.chunk_bytes = 8928;
        config_.resident_blocks = 24;
        receiver_.emplace(config_, prng_);
        const wire::Offer offer{.blocks = blocks,
                                .object_bytes = std::uint64_t{blocks} * kBlockBytes,
                                .chunk_bytes = config_.chunk_bytes,
                                .source_time_us = 1,
                                .parities = 0,
                                .awaited = {},
                                .descriptors = {}};
        tell(wire::PacketType::offer, wire::write(offer));
    }

    void tell(wire::PacketType type, const std::vector<std::byte>& body) {
        Datagram datagram = arrival(++number_, now_);
        datagram.header.type = type;
        datagram.body = body;
        receiver_->on_datagrams(now_, {&datagram, 1});
        operate();
    }
    /// The whole block, chunk by chunk.
    void give(std::uint32_t index, const wire::Descriptor& as) {
        tell(wire::PacketType::describe,
             wire::write(wire::Describe{.first = block(index), .descriptors = {as}}));
        const Cut cut{config_.chunk_bytes};
        for (std::uint32_t chunk = 0; chunk < cut.chunks(as.wire_length); ++chunk) {
            Datagram datagram = arrival(++number_, now_);
            datagram.header.type = wire::PacketType::data;
            datagram.header.block = block(index);
            datagram.header.chunk = ChunkIndex{static_cast<std::uint16_t>(chunk)};
            datagram.body_bytes = static_cast<std::uint16_t>(cut.length(as.wire_length, chunk));
            datagram.lease = Ticket{1};
            receiver_->on_datagrams(now_, {&datagram, 1});
            operate();
        }
        now_ += milliseconds{1};
    }
    [[nodiscard]] std::uint64_t held() const { return receiver_->outcome().bytes_held; }
    [[nodiscard]] std::size_t bytes_most() const { return most_; }

  private:
    void operate() {
        for (;;) {
            OperationBatch batch;
            receiver_->next_operations(now_, batch);
            std::vector<Completion> done;
            for (const Operation& operation : batch.operations) {
                if (operation.kind == OperationKind::verify ||
                    operation.kind == OperationKind::store) {
                    Completion& completed = done.emplace_back();
                    completed.ticket = operation.ticket;
                    completed.kind = operation.kind;
                    completed.block = operation.block;
                }
            }
            if (done.empty()) {
                break;
            }
            receiver_->on_done(now_, done);
        }
        SendBatch sends;
        receiver_->next_sends(now_, sends);
        sends = {};
        const std::size_t now = heap_bytes();
        most_ = std::max(most_, now - std::min(now, before_));
    }

    std::size_t before_;
    std::size_t most_ = 0;
    Prng prng_{1};
    CoreConfig config_ = config_of(1, 4);
    std::optional<Receiver> receiver_;
    Instant now_ = kStart;
    std::uint64_t number_ = 0;
};

}  // namespace

TEST_CASE("a receiver's core of a gigabyte has less than 64 KB") {
    Fed fed{1024};
    for (std::uint32_t index = 0; index < 1024; ++index) {
        fed.give(index, raw_block(kBlockBytes));
    }
    CHECK(fed.held() == std::uint64_t{1} << 30U);
    CAPTURE(fed.bytes_most());
    CHECK((!kIsCounted || fed.bytes_most() <= kCoreBytesMax));
}

TEST_CASE("and of two terabytes hardly more") {
    constexpr std::uint32_t kBlocks = 1U << 21U;
    Fed fed{kBlocks};
    for (std::uint32_t index = 0; index < 20'000; ++index) {
        fed.give(index, hole_block(kBlockBytes));
    }
    CHECK(fed.held() == 20'000ULL * kBlockBytes);
    CAPTURE(fed.bytes_most());
    CHECK((!kIsCounted || fed.bytes_most() <= kCoreBytesMax + (16U << 10U)));
}

TEST_CASE("what a member holds of two terabytes are a few kilobytes") {
    const std::size_t before = heap_bytes();
    constexpr std::uint32_t kBlocks = 1U << 21U;
    ChunkMap map{kBlocks, 118, 24};
    for (std::uint32_t index = 0; index < kBlocks; ++index) {
        REQUIRE(map.open(block(index)) != nullptr);
        map.hold(block(index));
        REQUIRE(map.first_unheld() == index + 1);
    }
    CHECK(map.holds_all());
    const std::size_t after = heap_bytes();
    CAPTURE(before, after);
    CHECK((!kIsCounted || after - before < (16U << 10U)));
}

// What stands between a simulated member's session and its core.
//
// It checks at every call what a core promised (docs/ARCHITECTURE.md): each lease ends once, a
// chunk is placed once and sent only from memory, residency is bounded, packet numbers are new.
// Where chunks are small (object.h) it translates: the session sees eight bytes of each, the
// core their real length.
#pragma once

#include "tests/sim/host/object.h"
#include "transport/core/base/core.h"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stage::sim {

class WatchedCore final : public core::Core {
  public:
    using Complain = std::function<void(std::string)>;

    /// All but the core must outlive this.
    WatchedCore(std::unique_ptr<core::Core> core,
                const Plan& plan,
                std::uint16_t rank,
                Object& object,
                Complain complain);

    void on_datagrams(Instant now, std::span<const core::Datagram> datagrams) override;
    void on_done(Instant now, std::span<const core::Completion> completions) override;
    void on_time(Instant now) override;
    void on_abort(Instant now, const Error& why) override;
    void on_disk_waiting(Instant now) override { core_->on_disk_waiting(now); }
    void on_all_listen(Instant now) override;
    void next_sends(Instant now, core::SendBatch& sends) override;
    void next_operations(Instant now, core::OperationBatch& operations) override;
    [[nodiscard]] std::optional<Instant> deadline() const override { return core_->deadline(); }
    /// With the size of chunks that the session handles.
    [[nodiscard]] const core::Outcome& outcome() const override { return outcome_; }

    /// Control packets that reached the core, by type.
    [[nodiscard]] const std::array<std::uint64_t, 16>& heard() const { return heard_; }
    /// What these took on its link, in bytes, by type.
    [[nodiscard]] const std::array<std::uint64_t, 16>& heard_bytes() const {
        return heard_bytes_;
    }
    /// How often time alone woke the core.
    [[nodiscard]] std::uint64_t times_woken() const { return times_woken_; }
    [[nodiscard]] std::uint64_t reconstructed() const { return reconstructed_; }

    /// What it sent and wanted, as far as that shows the way that it took
    /// (marks.h).
    struct Did {
        std::array<std::uint64_t, 16> sent{};        ///< Packets, by type.
        std::array<std::uint64_t, 16> operations{};  ///< By kind.
        std::uint64_t busy = 0;                      ///< LACKINGs for want of room.
        std::uint64_t asked_source = 0;              ///< Requests to the source.
        std::uint64_t asked_descriptor = 0;
        std::uint64_t repeated_to_group = 0;  ///< DATA.
        std::uint64_t called = 0;             ///< READYs before any OFFER came.
        std::uint64_t verified_again = 0;
        std::uint64_t recut = 0;  ///< It went over to smaller packets.
    };
    [[nodiscard]] const Did& did() const { return did_; }

  private:
    /// Whether each chunk of a block is in memory.
    using Chunks = std::vector<std::uint8_t>;

    void refresh();
    void watch(core::Operation& operation);
    void watch(core::Send& send);
    void note(const core::Send& send);
    void end_lease(const core::Operation& operation);
    void place(const core::Operation& operation);
    void release(BlockIndex block);
    void encode(core::Operation& operation);
    void reconstruct(core::Operation& operation);
    void use_small(core::Operation& operation);
    void use_small_code(core::Operation& operation);
    [[nodiscard]] Chunks& make_resident(BlockIndex block);
    [[nodiscard]] bool has(BlockIndex block, std::size_t chunk) const;

    std::unique_ptr<core::Core> core_;
    const Plan& plan_;
    std::uint16_t rank_;
    Object& object_;
    Complain complain_;
    core::Outcome outcome_;
    std::vector<core::Datagram> datagrams_;
    std::vector<std::uint8_t> leases_;  ///< By ticket - 1; 0: ended.
    std::vector<Chunks> buffers_;
    std::vector<std::uint16_t> free_;      ///< Buffers.
    std::vector<std::uint16_t> resident_;  ///< 1 + each block's buffer, or 0.
    std::deque<core::ParityCode> codes_;   ///< The last operations' codes, small.
    std::uint64_t last_number_ = 0;
    std::array<std::uint64_t, 16> heard_{};
    std::array<std::uint64_t, 16> heard_bytes_{};
    std::uint64_t times_woken_ = 0;
    std::uint64_t reconstructed_ = 0;
    Did did_;
    std::vector<bool> verified_;  ///< Blocks.
};

}  // namespace stage::sim

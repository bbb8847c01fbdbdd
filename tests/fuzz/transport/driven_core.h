// Drives a protocol core with fuzz input and checks its contract.
//
// The contract of core/base/core.h, by a driver whose network, disk and clock are the
// input's: packets that no member would send, time that jumps, a disk that fails or never
// answers. What comes by a session's keys is not the core's affair: every packet has a member's
// rank and a header that can be read. Of a core that uses connections the input makes and ends
// them, and a Watch sees all that passes by them.
#pragma once

#include "tests/fuzz/fuzz.h"
#include "transport/core/base/core.h"
#include "transport/core/base/object_shape.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace stage {

inline constexpr std::uint16_t kDrivenMembers = 5;
inline constexpr std::uint16_t kDrivenChunkBytes = wire::kMinChunkBytes + 64;
/// The chunk size of a relay: what TCP carries.
inline constexpr std::uint32_t kRelayChunkBytes = 16384;
/// The bytes of the last block of an object; those before are full.
inline constexpr std::uint32_t kDrivenLastBytes = 1300;

/// The connections of a multicast core: there are none.
struct NoConnections {
    static constexpr bool kHasLinks = false;

    explicit NoConnections(const core::CoreConfig& /*config*/) {}
    void on_datagram(const core::Datagram& /*datagram*/) {}
    void on_link(const LinkEvent& /*event*/) {}
    void on_operation(const core::Operation& /*operation*/) {}
    void check_send(const core::Send& /*send*/) {}
    void check_outcome(const core::Outcome& /*outcome*/) const {}
};

template <class Watch = NoConnections>
class DrivenCore {
  public:
    /// `blocks`: that the object has, or may be offered with. `core` has this configuration.
    DrivenCore(ByteReader& input,
               std::uint32_t blocks,
               const core::CoreConfig& config,
               core::Core& core)
        : input_{input}, blocks_{blocks}, config_{config}, core_{core}, watch_{config} {}

    [[nodiscard]] const core::Outcome& outcome() const { return core_.outcome(); }
    [[nodiscard]] bool has_finished() const { return is_finished_; }

    /// All that the input tells; then the end, from outside, which ends every core.
    void run() {
        for (int left = kEventsMax; left > 0 && input_.left() > 0; --left) {
            happen();
            follow();
        }
        core_.on_abort(now_, Error{Blame::user, "the input has ended"});
        follow();
        for (int turns = 0; core_.deadline(); ++turns) {
            invariant(turns < kTurnsMax, "a core that was aborted comes to its end");
            turn_at(*core_.deadline());
        }
        invariant(is_over(outcome().phase), "a core without a deadline is over");
    }

  private:
    static constexpr int kEventsMax = 400;
    static constexpr int kTurnsMax = 20'000;
    static constexpr int kBatchesMax = 10'000;
    static constexpr std::uint32_t kPacketsMax =
        64;  ///< The packets of one send, as a kernel takes.

    static constexpr bool is_over(core::Phase phase) {
        return phase == core::Phase::released || phase == core::Phase::failed ||
               phase == core::Phase::handed_over;
    }

    // ---- what happens

    void happen() {
        const std::uint8_t what = input_.u8();
        is_late_ = is_late_ && what % 8U == 6;
        switch (what % 8U) {
            case 0:
            case 1:
            case 2:
                return receive(1U + what / 8U % 4U);
            case 3:
            case 4:
                return complete();
            case 5:
                return wait();
            case 6:
                if (const auto due = core_.deadline()) {
                    turn_at(*due);
                }
                return;
            default:
                return what == 255
                           ? core_.on_abort(now_, Error{Blame::user, "aborted by the driver"})
                           : happen_rarely();
        }
    }

    void happen_rarely() {
        if constexpr (Watch::kHasLinks) {
            const unsigned how = input_.u8();
            const LinkEvent event{.peer = other(how),
                                  .flow = Flow{static_cast<std::uint8_t>(how >> 7U)},
                                  .kind = how % 8U == 7   ? LinkEvent::Kind::closed
                                          : how % 8U == 6 ? LinkEvent::Kind::narrowed
                                                          : LinkEvent::Kind::ready};
            watch_.on_link(event);
            core_.on_links(now_, std::array{event});
        } else {
            core_.on_all_listen(now_);
        }
    }

    /// One of the other members.
    [[nodiscard]] Rank other(unsigned choice) const {
        const unsigned after = 1U + choice / 8U % (kDrivenMembers - 1U);
        return Rank{static_cast<std::uint16_t>((config_.own.value() + after) % kDrivenMembers)};
    }

    void wait() {
        const std::int64_t tenths = input_.u8();
        now_ += std::chrono::microseconds{tenths * tenths * tenths};
        if (core_.deadline() && *core_.deadline() <= now_) {
            core_.on_time(now_);
        }
    }

    /// A core that is due again at once would keep its process busy.
    void turn_at(Instant due) {
        now_ = std::max(now_ + std::chrono::microseconds{1}, due);
        core_.on_time(now_);
        follow();
        const auto next = core_.deadline();
        const bool was_late = std::exchange(is_late_, next && *next <= now_);
        invariant(!was_late || !is_late_, "a core is not due again and again");
    }

    void receive(unsigned count) {
        std::vector<core::Datagram> datagrams;
        for (; count > 0 && input_.left() > 0; --count) {
            datagrams.push_back(read_datagram());
            watch_.on_datagram(datagrams.back());
        }
        core_.on_datagrams(now_, datagrams);
        perform_all();
        invariant(leases_.empty(), "every lease has ended before the next datagrams");
    }

    core::Datagram read_datagram() {
        constexpr auto kTypes = static_cast<unsigned>(wire::PacketType::extended);
        core::Datagram datagram;
        const unsigned how = input_.u8();
        const unsigned from = input_.u8();
        datagram.header.type = static_cast<wire::PacketType>(1U + how % 16U % kTypes);
        datagram.header.flags = static_cast<std::uint8_t>(how >> 4U) & 7U;
        datagram.header.session = config_.session;
        datagram.header.rank = Rank{static_cast<std::uint16_t>(
            (config_.own.value() + 1U + from % (kDrivenMembers - 1U)) % kDrivenMembers)};
        datagram.header.flow = Flow{static_cast<std::uint8_t>(from >> 7U)};
        datagram.to_group = (from & 64U) == 0;
        datagram.overflow = overflow_ += (from & 128U) != 0 ? 1U : 0U;
        datagram.header.packet_number = number_ += 1U + (from >> 4U & 3U);
        datagram.arrived_at = now_;
        if (datagram.header.is_data()) {
            datagram.header.block = BlockIndex{wide(input_.u8())};
            datagram.header.chunk = ChunkIndex{static_cast<std::uint16_t>(wide(input_.u8()))};
            datagram.body_bytes = (how & 128U) != 0 ? input_.u16() : config_.chunk_bytes;
            datagram.lease = core::Ticket{++last_lease_};
            leases_.insert(last_lease_);
        } else {
            datagram.body = body_of(datagram.header.type);
            datagram.body_bytes = static_cast<std::uint32_t>(datagram.body.size());
        }
        return datagram;
    }

    /// Small numbers as they are, some large ones.
    static std::uint32_t wide(std::uint8_t value) {
        return value < 240 ? value : 0xFFFFU - (255U - value) * 257U;
    }

    /// The offer that is taken is of this object: one of more blocks would only take more
    /// memory. Later ones, to be ignored, say what they like.
    Bytes body_of(wire::PacketType type) {
        const Bytes body = piece_of(input_);
        const auto offer = type == wire::PacketType::offer ? wire::read_offer(body)
                                                           : std::optional<wire::Offer>{};
        const bool is_taken = offer && (phase_ == core::Phase::wiring ||
                                        offer->chunk_bytes == config_.chunk_bytes_fallback);
        return is_taken && offer->blocks != blocks_ ? Bytes{} : body;
    }

    void complete() {
        if (under_way_.empty()) {
            return;
        }
        const unsigned how = input_.u8();
        const auto at =
            under_way_.begin() + static_cast<std::ptrdiff_t>(how / 8U % under_way_.size());
        const core::Operation operation = *at;
        under_way_.erase(at);
        core::Completion done;
        done.ticket = operation.ticket;
        done.kind = operation.kind;
        done.block = operation.block;
        done.verdict = how % 8U == 7   ? core::Verdict::failed
                       : how % 8U == 6 ? core::Verdict::bad_digest
                                       : core::Verdict::good;
        if (done.verdict == core::Verdict::failed) {
            done.why = Error{Blame::node, "the disk said no"};
        }
        if (done.kind == core::OperationKind::load) {
            load(done);
        }
        account(operation, done);
        core_.on_done(now_, std::array{done});
    }

    /// A receiver gives back what it stored.
    void load(core::Completion& done) {
        const std::uint32_t block = done.block.value();
        resident_.insert(block);
        whole_.insert(block);
        if (is_source()) {
            done.descriptor = {
                .length = length_of(block), .wire_length = length_of(block), .leaf = {}};
        } else if (const auto stored = stored_.find(block); stored != stored_.end()) {
            done.descriptor = stored->second;
        } else if (done.verdict == core::Verdict::good) {
            done.verdict = core::Verdict::bad_digest;
        }
    }

    void account(const core::Operation& operation, const core::Completion& done) {
        if (done.verdict != core::Verdict::good) {
            return;
        }
        if (done.kind == core::OperationKind::verify) {
            verified_.insert(done.block.value());
        }
        if (done.kind == core::OperationKind::store) {
            stored_[done.block.value()] = operation.descriptor;
        }
        is_finished_ = is_finished_ || done.kind == core::OperationKind::finish;
    }

    // ---- what it wants

    void follow() {
        perform_all();
        for (int batches = 0;; ++batches) {
            invariant(batches < kBatchesMax, "a core stops sending");
            core::SendBatch batch;
            core_.next_sends(now_, batch);
            std::ranges::for_each(batch.sends, [this](const auto& send) { check_send(send); });
            if (batch.sends.empty()) {
                break;
            }
        }
        check_outcome();
    }

    void perform_all() {
        for (int batches = 0;; ++batches) {
            invariant(batches < kBatchesMax, "a core's operations end");
            core::OperationBatch batch;
            core_.next_operations(now_, batch);
            for (const core::Operation& operation : batch.operations) {
                perform(operation);
            }
            if (batch.operations.empty()) {
                return;
            }
        }
    }

    void perform(const core::Operation& operation) {
        using Kind = core::OperationKind;
        const std::uint32_t block = operation.block.value();
        watch_.on_operation(operation);
        switch (operation.kind) {
            case Kind::place:
                end_lease(operation);
                invariant(operation.chunk.value() <= kBlockBytes / chunk_bytes(),
                          "a chunk has its place in a block's buffer");
                become_resident(block);
                placed_[block].insert(operation.chunk.value());
                return;
            case Kind::drop:
                return end_lease(operation);
            case Kind::release:
                return release(block);
            case Kind::encode:
            case Kind::reconstruct:
                return code(operation);
            case Kind::connect:
            case Kind::hang_up:
                return;
            case Kind::finish:
                invariant(!std::exchange(is_finishing_, true), "finish is asked once");
                invariant(is_whole(), "only a complete block is finished");
                break;
            case Kind::store:
                invariant(operation.descriptor.encoding == wire::Encoding::hole ||
                              verified_.contains(block),
                          "only a block with a good digest is stored");
                [[fallthrough]];
            case Kind::verify:
                invariant(operation.descriptor.length <= kBlockBytes, "a block has its size");
                become_resident(block);
                break;
            case Kind::load:
                invariant(is_source() ? block < blocks_ : stored_.contains(block),
                          "what is loaded is of the object, or was stored");
                break;
        }
        under_way_.push_back(operation);
        invariant(under_way_.size() <= 4 * config_.resident_blocks + 16U,
                  "few operations are under way");
    }

    void end_lease(const core::Operation& operation) {
        invariant(leases_.erase(operation.ticket.value()) == 1, "a lease ends once");
    }

    void become_resident(std::uint32_t block) {
        invariant(block < 2 * blocks_, "a block is of the object, or of its parities");
        resident_.insert(block);
        invariant(resident_.size() <= config_.resident_blocks, "few blocks are resident");
    }

    void release(std::uint32_t block) {
        invariant(resident_.erase(block) == 1, "what is released was resident");
        placed_.erase(block);
        verified_.erase(block);
        whole_.erase(block);
    }

    void code(const core::Operation& operation) {
        invariant(operation.code != nullptr, "what is coded has a code");
        become_resident(operation.block.value());
        const auto symbols = operation.code->symbols();
        invariant(symbols.size() + operation.code->parities <= core::kSymbolsAndParitiesMax,
                  "a code fits its field");
        for (const std::uint16_t lost : operation.code->lost) {
            invariant(lost < symbols.size(), "what is made good is of the object");
            become_resident(symbols[lost].block.value());
            placed_[symbols[lost].block.value()].insert(symbols[lost].chunk.value());
        }
        if (operation.kind == core::OperationKind::encode) {
            whole_.insert(operation.block.value());
        }
        invariant(operation.code->lost.size() == operation.code->with.size(),
                  "as many chunks are restored as parities are here");
    }

    void check_send(const core::Send& send) {
        invariant(send.count > 0 && send.count <= kPacketsMax, "a send has some packets");
        invariant(send.packet_number > last_sent_, "a packet number is new");
        last_sent_ = send.packet_number + send.count - 1;
        invariant(send.to.to_group ||
                      (send.to.peer.value() < kDrivenMembers && send.to.peer != config_.own),
                  "a packet has a target");
        if (send.type == wire::PacketType::data) {
            invariant(resident_.contains(send.block.value()), "what is sent is resident");
            invariant(send.first.value() + send.count <= kBlockBytes / chunk_bytes() + 1U,
                      "what is sent is of its block");
            for (std::uint32_t chunk = 0; chunk < send.count; ++chunk) {
                invariant(has(send.block.value(), send.first.value() + chunk),
                          "what is sent was received");
            }
        } else {
            invariant(send.body.size() <= wire::kMaxBodyBytes, "a body fits a packet");
        }
        watch_.check_send(send);
    }

    [[nodiscard]] bool has(std::uint32_t block, std::uint32_t chunk) const {
        const auto placed = placed_.find(block);
        return whole_.contains(block) ||
               (placed != placed_.end() && placed->second.contains(chunk));
    }

    void check_outcome() {
        const core::Outcome& now = outcome();
        invariant(!is_over(phase_) || now.phase == phase_, "the end is the end");
        phase_ = now.phase;
        invariant(now.phase != core::Phase::failed || now.why, "who failed says why");
        const bool holds =
            now.phase == core::Phase::holding || now.phase == core::Phase::released;
        invariant(!holds || is_finished_, "a member that holds the object has finished it");
        watch_.check_outcome(now);
    }

    /// True if a receiver has every block that was offered. The source reads its own.
    [[nodiscard]] bool is_whole() const {
        std::size_t held = stored_.size();
        for (const core::BlockRun& run : config_.held_before) {
            held += run.count;
        }
        return is_source() || config_.holds_already || held == blocks_;
    }
    [[nodiscard]] bool is_source() const { return config_.own == config_.source; }
    [[nodiscard]] std::uint32_t chunk_bytes() const { return outcome().chunk_bytes; }
    [[nodiscard]] std::uint32_t length_of(std::uint32_t block) const {
        return block + 1 == blocks_ ? kDrivenLastBytes : kBlockBytes;
    }

    ByteReader& input_;
    std::uint32_t blocks_;
    core::CoreConfig config_;
    core::Core& core_;
    Instant now_{std::chrono::hours{5}};
    std::uint64_t number_ = 0;
    std::uint32_t overflow_ = 0;
    std::uint64_t last_lease_ = 0;
    std::uint64_t last_sent_ = 0;
    std::set<std::uint64_t> leases_;
    std::set<std::uint32_t> resident_;
    std::map<std::uint32_t, std::set<std::uint32_t>> placed_;  ///< Chunks of resident blocks.
    std::set<std::uint32_t> whole_;     ///< Resident blocks that were read or computed.
    std::set<std::uint32_t> verified_;  ///< Resident blocks.
    std::map<std::uint32_t, wire::Descriptor> stored_;
    std::vector<core::Operation> under_way_;
    core::Phase phase_ = core::Phase::wiring;
    bool is_finishing_ = false;
    bool is_finished_ = false;
    bool is_late_ = false;
    Watch watch_;
};

}  // namespace stage

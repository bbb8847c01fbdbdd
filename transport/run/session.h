// Takes the turns of a member's part in a broadcast.
//
// A turn passes what has arrived, completed or become due to the core, and does what the core
// wants. It decides nothing: what to send, request, repeat or give up is decided by the core.
// It never blocks and reads no clock: loop.h waits between two turns by ppoll(), the simulator
// by its events.
#pragma once

#include "transport/base/log.h"
#include "transport/core/base/core.h"
#include "transport/run/flows.h"
#include "transport/run/moderation.h"
#include "transport/run/object/block_store.h"
#include "transport/run/object/disk.h"
#include "transport/run/outbox.h"
#include "transport/run/stamp_clock.h"

#include <set>
#include <span>
#include <vector>

namespace stage {

/// The interface between a session and the program around it.
class Watcher {
  public:
    Watcher() = default;
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    virtual ~Watcher() = default;

    /// Called after every turn in which the phase changed, and otherwise at most every 100 ms.
    virtual void on_progress(const core::Outcome& outcome) = 0;
    /// A descriptor to wait for beside the session's own, or -1.
    [[nodiscard]] virtual int descriptor() const { return -1; }
    /// The descriptor is readable. An error ends the session for this reason.
    virtual Status on_readable() { return {}; }
    /// True once it is known that the cores of all members run.
    [[nodiscard]] virtual bool do_all_listen() const { return false; }
};

struct SessionParts {
    core::Core& core;
    Driver& driver;
    seal::SessionSeal& seal;
    BlockStore& blocks;
    Disk& disk;
    Outbox& outbox;
    Watcher& watcher;
    Flows* flows = nullptr;  ///< Set if threads of their own receive multicast packets.
    /// What converts a packet's stamp to the loop's clock. Asked after packets were received.
    Duration (*stamp_shift)() = wall_clock_shift;
};

/// How the stream's packets are treated while a session waits.
enum class StreamWait : std::uint8_t {
    wakes,    ///< A packet ends the wait.
    gathers,  ///< Packets gather in the socket until something else ends the wait.
    stays,    ///< Packets gather, and the next turn reads none: the core has no room.
};

/// What a session waits for after a turn, beside the descriptors of its disk and its watcher
/// and the packets of peers.
struct Waits {
    Instant until{};  ///< Then the next turn is due, whatever happened.
    StreamWait stream = StreamWait::wakes;
    std::uint32_t outlets =
        0;  ///< Bit k: for room in the driver's outlet k, which refused a train.
};

class Session {
  public:
    /// Blocks beyond CoreConfig::resident_blocks for which the store of blocks must have room:
    /// released by the core, but still needed by a refused train.
    static constexpr std::uint32_t kLeavingBlocks = 24;

    /// All parts must outlive the session.
    explicit Session(SessionParts parts);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() = default;

    /// Takes a turn. `found`: the driver's descriptors that were found readable.
    [[nodiscard]] Waits turn(Instant now, Readable found);
    /// True once no further turn is needed. A failure is in the core's outcome.
    [[nodiscard]] bool is_over() const { return is_over_; }
    /// The watcher's descriptor was found readable.
    void hear_watcher(Instant now);

  private:
    void receive(Instant now, Readable readable);
    void hear(Instant now, std::span<const ReceivedPacket> packets);
    void hear_flows(Instant now);
    void hear_flow_packets(Instant now);
    void hear_disk(Instant now);
    void hear_links(Instant now);
    void tell_heard(Instant now);
    [[nodiscard]] core::Datagram datagram_of(Instant now,
                                             const seal::Opened& opened,
                                             bool to_group,
                                             std::int64_t stamp_ns);
    [[nodiscard]] std::uint32_t overflow(bool to_group);
    [[nodiscard]] MutableBytes room_for(const wire::Header& header, std::size_t bytes);
    [[nodiscard]] std::size_t offset_of(ChunkIndex chunk) const;
    void operate(Instant now);
    void perform(const core::Operation& operation);
    void place(const core::Operation& operation);
    void use_disk(const core::Operation& operation);
    void submit(const core::Operation& operation, MutableBytes buffer);
    void send(Instant now);
    void release(BlockIndex block);
    void stay(BlockIndex block);
    void release_left();
    [[nodiscard]] bool has_core_ended() const;
    void tell(Instant now);
    [[nodiscard]] Waits waits(Instant now) const;
    [[nodiscard]] bool stream_waits(Instant now) const;
    [[nodiscard]] Duration wait_max(Instant now) const;
    void give_up(Instant now, const Error& why);
    [[nodiscard]] bool has_ended(Instant now);

    SessionParts parts_;
    seal::PayloadRoom room_;
    bool given_up_ = false;
    bool is_over_ = false;
    std::optional<Instant> ended_at_;  ///< The core has nothing to do any more since.
    bool all_listen_ = false;          ///< The core knows that all members listen.
    core::Phase reported_phase_ = core::Phase::wiring;
    Instant reported_at_{};
    Duration shift_{};  ///< From the kernel's stamps to the loop's clock.
    /// Packets that the sockets had dropped when the group was first heard.
    std::optional<std::uint64_t> overflow_before_;
    Moderation moderation_;
    StreamWait stream_ = StreamWait::wakes;  ///< During the last wait.
    std::vector<ReceivedPacket> packets_;
    std::vector<FlowPacket> flow_packets_;
    std::vector<LinkEvent> links_;
    std::vector<core::Datagram> datagrams_;
    std::vector<Bytes> payloads_;  ///< The payloads of these datagrams, by lease - 1.
    /// Released by the core, but still needed by a queued train.
    std::set<BlockIndex> leaving_;
    core::SendBatch sends_;
    core::OperationBatch operations_;
    std::vector<core::Completion> done_at_once_;  ///< Completions of the batch being performed.
};

}  // namespace stage

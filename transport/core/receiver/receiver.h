// The core of a receiver.
//
// It answers OFFERs, places every chunk that it hears, requests missing chunks from peers,
// answers their requests, verifies and stores complete blocks, reports by DONE that it holds
// the object, and stays until RELEASE. Each of these is a part of its own; this file composes
// them.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/core.h"
#include "transport/core/base/limits.h"
#include "transport/core/feedback/done_reporter.h"
#include "transport/core/feedback/reporter.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/offer_solicitation.h"
#include "transport/core/membership/ready_responder.h"
#include "transport/core/receiver/group_standing.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/receiver/receiver_repairs.h"
#include "transport/core/receiver/reconstruction.h"
#include "transport/core/receiver/source_watch.h"
#include "transport/core/receiver/stream_wait.h"
#include "transport/core/repair/repair_server.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/disk_watch.h"
#include "transport/core/sending/pacer.h"

namespace stage::core {

class Receiver final : public Core {
  public:
    /// Requires config.own != config.source. `prng` must outlive this.
    Receiver(const CoreConfig& config, Prng& prng, Limits limits = {});

    void on_datagrams(Instant now, std::span<const Datagram> datagrams) override;
    void on_done(Instant now, std::span<const Completion> completions) override;
    void on_time(Instant now) override { work(now); }
    void on_abort(Instant now, const Error& why) override;
    void on_disk_waiting(Instant now) override { disk_watch_.on_waiting(now); }
    void on_all_listen(Instant now) override;
    void next_sends(Instant now, SendBatch& batch) override;
    void next_operations(Instant now, OperationBatch& batch) override;
    [[nodiscard]] std::optional<Instant> deadline() const override;
    [[nodiscard]] const Outcome& outcome() const override { return outcome_; }

  private:
    // Received packets.
    void on_datagram(Instant now, const Datagram& datagram);
    void on_source(Instant now, const Datagram& datagram);
    void on_data(Instant now, const Datagram& datagram);
    void on_first_pass(Instant now, const Datagram& datagram);
    void on_offer(Instant now, const Datagram& datagram);
    void on_first_offer(Instant now, const wire::Offer& offer);
    void on_end(Instant now);
    void on_pulse(Instant now, const Datagram& datagram);
    void on_describe(Instant now, const Datagram& datagram);
    void on_request(Instant now, const Datagram& datagram);
    void on_lacking(Instant now, const Datagram& datagram);
    void on_child_done(Instant now, const Datagram& datagram);
    void on_release(Instant now, const Datagram& datagram);
    [[nodiscard]] bool is_careful_offer(const Datagram& datagram) const;
    void fall_back_to_small_packets(Instant now);

    // Completed operations.
    void on_completion(Instant now, const Completion& completed);
    void on_loaded(const Completion& completed);
    void on_held(Instant now);

    // What becomes due.
    void work(Instant now);
    void watch(Instant now);
    void watch_disk(Instant now);
    void work_on_blocks(Instant now);
    void order_finish();
    void adjust_to_standing(Instant now);
    /// This member fails for a reason of its own.
    void fail(Instant now, Error why);
    void end_unheard();
    void stop();

    [[nodiscard]] bool is_over() const {
        return outcome_.phase == Phase::released || outcome_.phase == Phase::failed ||
               outcome_.phase == Phase::handed_over;
    }
    /// READY waits until the member holds what its configuration says.
    [[nodiscard]] bool may_answer() const {
        return !config_.holds_already || outcome_.phase == Phase::holding;
    }
    /// With headers; 0: not known yet.
    [[nodiscard]] std::uint64_t stream_bytes_per_s() const {
        return bytes_of(reporter_.arrivals().packets_per_s());
    }
    [[nodiscard]] StreamRate stream_rate() const {
        const std::uint32_t steady = reporter_.arrivals().steady_packets_per_s();
        return {.bytes_per_s = steady > 0 ? bytes_of(steady) : stream_bytes_per_s(),
                .is_steady = steady > 0};
    }
    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t packets) const {
        return std::uint64_t{packets} * (config_.chunk_bytes + kWireOverheadBytes);
    }
    [[nodiscard]] std::optional<Duration> disk_timeout() const;

    Prng& prng_;
    CoreConfig config_;
    Limits limits_;
    Outcome outcome_;
    Numbering numbers_;
    ControlQueue control_;
    Pacer pacer_;  ///< Paces what this member sends.
    Reassembly reassembly_;
    RepairServer server_;
    ReceiverRepairs repairs_;
    Reconstruction parities_;
    OfferSolicitation call_;
    ReadyResponder ready_;
    Reporter reporter_;
    DoneReporter done_;
    GroupStanding standing_;
    MemberEnding ending_;
    SourceWatch source_;
    DiskWatch disk_watch_;
    StreamWait stream_wait_;

    bool is_started_ = false;
    bool is_finishing_ = false;
    /// The object is so small that it travels with its OFFERs.
    bool comes_with_offers_ = false;
    std::uint64_t object_bytes_ = 0;       ///< The object's size, as offered.
    std::uint64_t first_pass_heard_ = 0;   ///< Chunks that arrived when they were first sent.
    std::uint64_t first_pass_placed_ = 0;  ///< Chunks among these that had room.
};

}  // namespace stage::core

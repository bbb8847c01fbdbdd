// The parts of a receiver.
//
// Only receiver*.cpp include this: deadlines (receiver.cpp), received packets
// (receiver_arrivals.cpp), failures (receiver_watch.cpp), and operation outside the group
// (receiver_away.cpp).
#pragma once

#include "transport/core/base/highest_received.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/done_reporter.h"
#include "transport/core/feedback/reporter.h"
#include "transport/core/membership/group_leave.h"
#include "transport/core/membership/group_reach.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/offer_solicitation.h"
#include "transport/core/membership/ready_responder.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/receiver/receiver.h"
#include "transport/core/receiver/reconstruction.h"
#include "transport/core/receiver/stream_wait.h"
#include "transport/core/repair/descriptor_pull.h"
#include "transport/core/repair/puller.h"
#include "transport/core/repair/repair_server.h"
#include "transport/core/sending/disk_watch.h"

namespace stage::core {

struct Receiver::Parts {
    Parts(const CoreConfig& given, Prng& prng, const Limits& limits_);

    // Received packets.
    void on_datagram(Instant now, const Datagram& datagram);
    void on_stream(Instant now, const Datagram& datagram);
    void on_data(Instant now, const Datagram& datagram);
    void on_first_pass(Instant now, const Datagram& datagram);
    void on_offer(Instant now, const Datagram& datagram);
    void on_end(Instant now);
    void on_pulse(Instant now, const Datagram& datagram);
    void follow_standing(Instant now);
    void watch_group(Instant now);
    /// True if the packet shows how the stream goes: a multicast packet, or any if this member
    /// is unreachable by multicast.
    [[nodiscard]] bool is_for_me(const Datagram& datagram) const {
        return datagram.to_group || leave.is_unreachable();
    }
    [[nodiscard]] bool is_careful_offer(const Datagram& datagram) const;
    void on_describe(Instant now, const Datagram& datagram);
    void on_request(Instant now, const Datagram& datagram);
    void on_lacking(Instant now, const Datagram& datagram);
    void on_child_done(Instant now, const Datagram& datagram);
    void on_release(Instant now, const Datagram& datagram);
    void on_completion(Instant now, const Completion& done);
    void on_loaded(const Completion& done);

    // Deadlines.
    void work(Instant now);
    void work_on_blocks(Instant now);
    void order_finish();
    void on_held(Instant now);
    void watch_source(Instant now);
    void watch_answers(Instant now);
    /// This member fails for a reason of its own.
    void fail(Instant now, Error why);
    void stop();

    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed;
    }
    /// READY waits until the member holds what its configuration says.
    [[nodiscard]] bool may_answer() const {
        return !config.holds_already || outcome.phase == Phase::holding;
    }
    /// With headers; 0: not known yet.
    [[nodiscard]] std::uint64_t stream_bytes_per_s() const {
        return std::uint64_t{reporter.arrivals().packets_per_s()} *
               (config.chunk_bytes + kWireOverheadBytes);
    }
    [[nodiscard]] Duration gap_age() const;
    [[nodiscard]] std::optional<Instant> frontier_deadline() const;
    [[nodiscard]] Instant wiring_deadline() const;
    [[nodiscard]] std::optional<Instant> source_deadline() const;
    void watch_disk(Instant now);
    [[nodiscard]] std::optional<Duration> disk_patience() const;
    void take(Instant now, OperationBatch& batch);

    CoreConfig config;
    Limits limits;
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    Pacer pacer;  ///< Of what this member sends.
    Reassembly intake;
    RepairServer server;
    Puller puller;
    DescriptorPull descriptor_pull;
    HighestReceived frontier;
    Reconstruction parities;
    OfferSolicitation call;
    ReadyResponder ready;
    Reporter reporter;
    DoneReporter done;
    GroupLeave leave;
    GroupReach reach;
    MemberEnding ending;
    DiskWatch disk_watch;
    StreamWait stream_wait;

    bool is_started = false;
    bool is_finishing = false;
    /// The object is so small that it travels with its OFFERs.
    bool comes_with_offers = false;
    bool is_out_of_group = false;
    Instant source_heard{};
    std::optional<Instant> all_listen_at;
    std::uint64_t object_bytes = 0;       ///< As offered.
    std::uint64_t first_pass_heard = 0;   ///< Chunks that arrived when they were first sent.
    std::uint64_t first_pass_placed = 0;  ///< Those of them that had room.
};

}  // namespace stage::core

// The constants that bound and time the broadcast.
//
// docs/protocol, 13, is normative and has their ranges and reasons. The cores receive them as
// parameters, so that a test can change each.
#pragma once

#include "transport/base/units.h"

#include <chrono>
#include <cstdint>

namespace stage::core {

struct PacerLimits {
    /// Largest burst, bytes on the wire: half of a small switch port's buffer.
    std::uint32_t burst_bytes_max = 64U << 10U;
    /// A burst is what the rate sends in this time, so that it leaves room for other traffic in
    /// every queue.
    Duration burst_time = std::chrono::microseconds{250};
    /// Up to this number of packets leave as one burst even if they take longer than
    /// burst_time, up to burst_time_max: each burst costs every host on the path about as much
    /// as all its packets together.
    std::uint32_t burst_packets = 8;
    Duration burst_time_max = std::chrono::milliseconds{4};
    /// A burst may always be what the rate sends in this time, so that the source wakes no more
    /// often.
    Duration burst_time_min = std::chrono::microseconds{40};
    /// Tokens older than this are discarded: sending them at once would be a blast.
    Duration credit_age_max = std::chrono::milliseconds{8};
    /// The largest burst factor: by how much both bounds may grow if the receivers take it.
    std::uint32_t burst_factor_max = 16;
};

struct RateLimits {
    /// Without a known rate this number of packets leaves at once, to measure the path.
    std::uint32_t train_packets = 64;
    /// or fewer large ones: more than a shaper passes at once, less than a port's buffer takes,
    std::uint32_t train_bytes = 160'000;
    std::uint32_t train_packets_min = 16;  ///< but no fewer than measure it.
    /// How long the source waits for a report on the train.
    Duration train_timeout = std::chrono::milliseconds{100};
    /// At a remembered rate, what it sends in this time may leave before the first report.
    Duration flight_remembered = std::chrono::microseconds{200};
    /// 100 Mbit/s, the first rate without a measurement.
    std::uint64_t start_bytes_per_s = 12'500'000;
    std::uint64_t least_bytes_per_s = 125'000;        ///< 1 Mbit/s.
    std::uint64_t most_bytes_per_s = 12'500'000'000;  ///< 100 Gbit/s.
    /// More loss above the known random loss than this: test it.
    std::uint32_t loss_new_ppm = 20'000;
    /// No more loss above the usual than this: the longer burst did no harm.
    std::uint32_t loss_steady_ppm = 10'000;
    /// Between two evaluations of the reports by the burst search.
    Duration round = std::chrono::milliseconds{20};
    /// What the reports of a round must cover at least.
    std::uint32_t packets_min = 256;
};

struct RepairLimits {
    std::uint16_t request_chunks_max = 16;  ///< The most chunks of one request.
    /// The most chunks of one request that are answered.
    std::uint16_t answer_chunks_max = 256;
    std::size_t requests_max = 64;            ///< In flight at a member.
    std::uint32_t in_flight_chunks_min = 32;  ///< May be in flight, however short the path is.
    std::uint32_t in_flight_chunks_max = 512;
    /// The most allowance for late answers: as late as they are, once that is known.
    Duration in_flight_slack = std::chrono::milliseconds{4};
    /// Share of the rate for repairs during the first pass.
    std::uint32_t stream_share_percent = 10;
    /// When the first pass pauses for this time, repairs get the whole rate: the source's
    /// window may wait for them.
    Duration stream_pause = std::chrono::milliseconds{50};
    Duration timeout_first = std::chrono::milliseconds{20};  ///< Before the first RTT sample.
    /// On a fast path at most the time that a block takes.
    Duration timeout_margin_min = std::chrono::microseconds{500};
    Duration timeout_max = std::chrono::seconds{1};
    /// A gap younger than this is reordering and not loss,
    Duration gap_age_min = std::chrono::microseconds{50};
    /// or the time that this number of packets takes, if that is shorter.
    std::uint32_t gap_packets = 64;
    Duration gap_age_max = std::chrono::milliseconds{5};
    /// Between two looks for missing chunks; on a fast path the time that a block takes.
    Duration gather_time = std::chrono::milliseconds{1};
    /// Between two looks that wait for tokens.
    Duration look_time_min = std::chrono::microseconds{10};
    std::uint32_t endgame_chunks = 32;  ///< With no more chunks missing the end-game begins.
    /// The number of peers that get each request of the end-game.
    std::uint32_t endgame_peers = 3;
    /// The remaining chunks are requested anew when at most 1/endgame_part is missing and one
    /// RTT brings all of it.
    std::uint32_t endgame_part = 2;
    /// The end-game waits less for an answer, because duplicates cost little.
    Duration endgame_margin_min = std::chrono::microseconds{50};
    std::uint8_t silences_free = 2;  ///< Time-outs in a row that do not lengthen the next.
    std::uint8_t failures_before_source = 4;
    /// The longest pause of a block after failures.
    Duration pause_max = std::chrono::milliseconds{20};
    /// Requests of its own share (scatter_repair.h) that a member has with the source.
    std::uint32_t share_requests = 2;
    /// A member that has given nothing of its share for this time, or longer, is not its owner.
    Duration swarm_start_min = std::chrono::milliseconds{100};
    /// About this number of a group's members ask the source at a time.
    std::uint32_t source_askers = 64;
    std::size_t jobs_max = 64;  ///< Blocks that peers requested, waiting to be answered.
    std::size_t loads_max = 4;  ///< Blocks that are read back for peers at a time.
    /// An older request has timed out at its requester.
    Duration job_age_max = std::chrono::milliseconds{500};
    /// Peers cannot expand a 16-bit packet number after 2^15 others: the whole number is stated
    /// earlier.
    std::uint64_t number_gap_max = 1U << 14U;
    /// Counted for one block; then the source's descriptor is rejected.
    std::uint32_t bad_digests_max = 8;
};

struct ParityLimits {
    /// An object of at most this number of chunks travels with parities,
    std::uint32_t symbols_max = 64;
    /// if it has at most this number of blocks.
    std::uint32_t coded_blocks_max = 8;
    std::uint8_t parities = 8;
    /// A DESCRIBE follows after this number of parities.
    std::uint32_t describe_every = 3;
    /// An object of at most this number of chunks costs hardly more to send than to offer.
    std::uint32_t offered_symbols_max = 16;
    /// How often the first OFFER of such an object is sent at once.
    std::uint16_t offers = 2;
};

struct FeedbackLimits {
    std::uint16_t representatives = 32;
    /// The source draws another in place of a representative that is silent for this time.
    Duration representative_silence = std::chrono::seconds{1};
    /// Between the reports of a representative,
    Duration interval = std::chrono::milliseconds{20};
    /// or the time in which the source sends this number of packets for each representative, if
    /// that is longer,
    std::uint32_t interval_packets = 2;
    /// but at most this.
    Duration interval_slow = std::chrono::milliseconds{60};
    /// A report comes sooner after many new blocks, but not sooner than this,
    Duration interval_min = std::chrono::milliseconds{1};
    /// or after an eighth of the packets heard so far: at least report_packets_min, and at most
    /// report_packets_each for each representative,
    std::uint32_t report_packets_min = 8;
    std::uint32_t report_packets_each = 8;
    /// but not sooner than this. Later in a stream the source receives at most one report in
    /// report_time.
    Duration interval_start = std::chrono::microseconds{100};
    Duration report_time = std::chrono::microseconds{50};
    std::uint32_t start_packets = 4096;  ///< A stream is young until then.
    /// A representative that has not reported for this time does not count.
    Duration silence = std::chrono::milliseconds{250};
    std::uint32_t stall_fraction = 8;  ///< Every receiver reports each stall_timeout / this,
    /// or, if that is longer, each time that is this times the number of members.
    Duration heartbeat_time = std::chrono::microseconds{100};
    /// Blocks whose reported losses the source counts at a time.
    std::size_t votes_blocks_max = 64;
    /// What was sent to the group is not sent again within two RTTs, bounded by these two.
    Duration repeat_window_min = std::chrono::milliseconds{5};
    Duration repeat_window_max = std::chrono::milliseconds{20};
    /// A chunk that a second member requests within this time is sent to the group.
    Duration shared_window = std::chrono::milliseconds{100};
    /// The first pass runs ahead of the median representative by at most this number of eighths
    /// of the resident blocks.
    std::uint32_t window_eighths = 6;
    /// Then one more block is sent.
    Duration window_timeout = std::chrono::milliseconds{250};
};

struct EndingLimits {
    std::uint16_t tree_degree = 8;
    /// First repeat of DONE and of LEAVE; doubles
    Duration done_retry = std::chrono::milliseconds{20};
    Duration done_retry_max = std::chrono::milliseconds{250};  ///< up to this.
    std::uint8_t done_tries = 4;  ///< Without an answer, before DONE goes to the next ancestor.
    /// Between two DONEs with new ranks.
    Duration done_gather = std::chrono::milliseconds{10};
    /// An acknowledged set is sent again, because the parent may have failed since.
    Duration done_refresh = std::chrono::milliseconds{250};
    /// The source sends a keep-alive after this silence.
    Duration alive_first = std::chrono::milliseconds{2};
    /// END is repeated end_even times after this,
    Duration end_first = std::chrono::microseconds{200};
    /// or after the time that this number of packets takes, if that is shorter;
    std::uint32_t end_packets = 64;
    /// then the interval doubles
    std::uint32_t end_even = 6;
    /// (for an object with parities it is this, and doubles)
    Duration end_first_coded = std::chrono::milliseconds{10};
    /// up to this.
    Duration end_max = std::chrono::milliseconds{500};
    /// An object that travels with its OFFERs is read first. If that takes longer, it is
    /// offered without data.
    Duration offer_unread = std::chrono::milliseconds{20};
    /// OFFER is repeated offer_even times after this;
    Duration offer_first = std::chrono::milliseconds{2};
    /// then the interval doubles
    std::uint32_t offer_even = 5;
    /// up to this.
    Duration offer_max = std::chrono::milliseconds{250};
    /// A receiver without an OFFER solicits one after this; the interval doubles.
    Duration call_first = std::chrono::milliseconds{5};
    /// A solicited OFFER follows this long after the first one, then twice that, up to
    /// offer_first.
    Duration call_least = std::chrono::microseconds{250};
    /// A member that still solicits after this may be behind a path that drops OFFERs of full
    /// packet size: all use smaller packets.
    Duration path_timeout = std::chrono::milliseconds{400};
    /// A member that solicits an OFFER this long after its first solicitation, and after
    /// unreached_offers more of them, does not hear the group.
    Duration unreached_after = std::chrono::milliseconds{30};
    std::uint32_t unreached_offers = 3;
    /// Replaces unreached_after if such members fail: some networks forward a new group late.
    Duration unreached_after_forced = std::chrono::seconds{1};
    /// How often a member confirms at once that the group goes on by a relay.
    std::uint16_t hand_over_confirms = 3;
    /// Times the number of members: the spread of the READYs.
    Duration ready_jitter = std::chrono::microseconds{15};
    /// RELEASE is repeated after this; the interval doubles
    Duration ending_first = std::chrono::milliseconds{5};
    /// up to this.
    Duration ending_max = std::chrono::milliseconds{250};
    /// How often LEAVE is sent.
    std::uint32_t leave_times = 9;
    /// How long the source repeats RELEASE and answers late members, unless all have confirmed
    /// it.
    Duration answer_late = std::chrono::seconds{2};
    /// In larger groups members do not confirm RELEASE.
    std::uint16_t confirming_members_max = 64;
    /// How long a member with children answers late members.
    Duration answer_late_member = std::chrono::milliseconds{250};
    /// Times stall_timeout: for the final names of the files.
    std::uint32_t finish_factor = 4;
};

/// Limits of a receiver that multicast does not reach.
struct FetchLimits {
    /// Interval of LEFT.
    Duration left_interval = std::chrono::milliseconds{20};
    /// Chunks in flight when the receiver begins to fetch.
    std::uint32_t pull_window_first = 16;
};

struct Limits {
    PacerLimits pacer;
    RateLimits rate;
    RepairLimits repair;
    ParityLimits parity;
    FeedbackLimits feedback;
    EndingLimits ending;
    FetchLimits fetch;
    std::size_t outbox_max = 256;  ///< Control packets that wait to be sent.
    /// Descriptors that a receiver keeps; two for each resident block if that is more.
    std::uint32_t descriptors_max = 512;
    /// Those that a source keeps: of 32 GiB. It reads older blocks again to describe them.
    std::uint32_t source_descriptors_max = 1U << 15U;
    /// How long packets of the stream may wait for room in the socket.
    Duration stream_wait = std::chrono::milliseconds{100};
    /// Blocks that are read before the first pass needs them.
    std::uint32_t load_ahead_max = 8;
};

/// Bytes that a DATA packet adds to its payload on the wire: 16 header, 12 tag, and 42 of
/// Ethernet, IP and UDP.
inline constexpr std::uint32_t kWireOverheadBytes = 70;

}  // namespace stage::core

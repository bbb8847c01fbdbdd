#include "transport/core/repair/puller.h"

#include "transport/base/invariant.h"
#include "transport/core/base/repeater.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::core {
namespace {

constexpr std::uint32_t kCopiesMax = 8;
constexpr unsigned kMany = 250;  ///< Counts of a block's requests end here.

/// Consecutive chunks become one run. Requires chunks in ascending order.
std::vector<wire::ChunkRun> runs_of(BlockIndex block, std::span<const std::uint16_t> chunks) {
    std::vector<wire::ChunkRun> runs;
    for (const std::uint16_t chunk : chunks) {
        if (!runs.empty() && unsigned{runs.back().first} + runs.back().count == chunk) {
            ++runs.back().count;
        } else {
            runs.push_back({.block = block, .first = chunk, .count = 1});
        }
    }
    return runs;
}

}  // namespace

Puller::Puller(const CoreConfig& config, const Limits& limits, Prng& prng)
    : limits_{limits.repair},
      rate_limits_{limits.rate},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      is_configured_{config.rate_bytes_per_s > 0},
      least_rate_{limits.rate.least_bytes_per_s},
      rate_{is_configured_ ? config.rate_bytes_per_s : limits.rate.start_bytes_per_s},
      search_{packet_bytes_},
      pacer_{limits.pacer, stream_share(), packet_bytes_},
      peers_{config, prng},
      round_trip_{{.first = limits.repair.timeout_first,
                   .margin_min = limits.repair.endgame_margin_min,
                   .max = limits.repair.timeout_max}},
      alone_first_{limits.fetch.pull_window_first} {
    invariant(limits_.request_chunks_max <= kChunksMax && limits_.endgame_peers <= kCopiesMax,
              "a request's chunks and its copies fit their records");
    asked_.reserve(limits_.requests_max);
}

void Puller::on_end(Instant now) {
    is_ended_ = true;
    if (!alone_) {
        pacer_.set_rate(now, rate_);
    }
    next_look_ = now;
    look_again(now);
}

bool Puller::remove(Asked& asked, std::uint32_t chunk) {
    for (std::uint8_t i = 0; i < asked.left; ++i) {
        if (asked.chunks[i] == chunk) {
            std::copy(asked.chunks.begin() + i + 1,
                      asked.chunks.begin() + asked.left,
                      asked.chunks.begin() + i);
            --asked.left;
            return true;
        }
    }
    return false;
}

void Puller::end(std::size_t index) {
    in_flight_ -= asked_[index].left;
    asked_[index] = asked_.back();
    asked_.pop_back();
}

void Puller::on_arrival(Instant now, Rank from, OpenBlock& open, std::uint32_t chunk) {
    open.asked.remove(chunk);
    if (late_.on_arrival(now, from, open.block, chunk)) {
        peers_.on_answer(from);
    }
    grow_alone(now);
    bool is_counted = false;
    for (std::size_t i = asked_.size(); i-- > 0;) {
        Asked& asked = asked_[i];
        if (asked.block != open.block || !remove(asked, chunk)) {
            continue;
        }
        --in_flight_;
        ++asked.given;
        if (!std::exchange(is_counted, true)) {  // Several peers may have been asked.
            search_.on_arrival(now);
        }
        if (asked.peer == from) {
            on_answer(now, asked);
            peers_.on_given(from);
            open.failures = 0;
            open.silences = 0;
            open.refusals = 0;
            open.lacking_count = 0;
            open.busy = 0;
        }
        if (asked.left == 0) {
            search_rate(now, asked);
            end(i);
        }
    }
}

/// The requested peer sent something: an RTT sample, and a sign of life.
void Puller::on_answer(Instant now, Asked& asked) {
    if (!asked.has_given) {
        const bool is_first = !round_trip_.is_known();
        round_trip_.on_sample(now - asked.sent_at);
        asked.has_given = true;
        if (is_first) {
            on_first_sample();
        }
    }
    asked.expires_at = now + timeout(0, copies(asked.block) > 1);
    peers_.on_answer(asked.peer);
}

/// Requests sent before the first RTT sample need not wait for the first time-out.
void Puller::on_first_sample() {
    for (Asked& asked : asked_) {
        asked.expires_at =
            std::min(asked.expires_at, asked.sent_at + timeout(0, copies(asked.block) > 1));
    }
}

/// Chunks of a request that ended may be asked for again, unless another request covers them.
void Puller::give_back(const Asked& asked, OpenBlock& open) const {
    for (std::uint8_t i = 0; i < asked.left; ++i) {
        const std::uint16_t chunk = asked.chunks[i];
        const bool is_covered = std::ranges::any_of(asked_, [&](const Asked& other) {
            const auto end = other.chunks.begin() + other.left;
            return !other.is_replaced && other.id != asked.id && other.block == asked.block &&
                   std::find(other.chunks.begin(), end, chunk) != end;
        });
        if (!is_covered) {
            open.asked.remove(chunk);
        }
    }
}

/// The block's next request goes elsewhere,
void Puller::avoid(const Asked& asked, OpenBlock& open) const {
    open.lacking[open.lacking_count % open.lacking.size()] = asked.peer;
    ++open.lacking_count;
}

/// and after several rounds without any chunk later.
void Puller::pause(Instant now, unsigned rounds, OpenBlock& open) const {
    const unsigned over = rounds - std::min<unsigned>(rounds, limits_.failures_before_source);
    if (over > 0) {
        const Duration wait = round_trip_.mean() * (std::int64_t{1} << std::min(over, 6U));
        open.ask_after = now + std::min(wait, limits_.pause_max);
    }
}

/// A request gave nothing.
void Puller::fail(Instant now, const Asked& asked, OpenBlock& open, bool was_silent) {
    avoid(asked, open);
    open.failures = static_cast<std::uint8_t>(std::min(open.failures + 1U, kMany));
    open.silences =
        was_silent ? static_cast<std::uint8_t>(std::min(open.silences + 1U, kMany)) : 0;
    open.refusals =
        static_cast<std::uint8_t>(std::min(open.refusals + (was_silent ? 0U : 1U), kMany));
    pause(now, open.failures / std::max(copies(open.block), 1U), open);
    look(now, true);
}

/// That says nothing about which member has the chunks, so it brings no request closer to the
/// source. (In a swarm failures choose among the owners of a share.)
void Puller::on_busy(Instant now, const Asked& asked, OpenBlock& open) {
    if (is_swarm()) {
        return fail(now, asked, open, false);
    }
    avoid(asked, open);
    open.silences = 0;
    open.busy = static_cast<std::uint8_t>(std::min(open.busy + 1U, kMany));
    pause(now, open.busy / std::max(copies(open.block), 1U), open);
    look(now, true);
}

void Puller::on_lacking(
    Instant now, Rank from, const wire::Request& lacking, bool is_busy, ChunkMap& map) {
    const auto found = std::ranges::find_if(asked_, [&](const Asked& asked) {
        return asked.id == lacking.id && asked.peer == from;
    });
    if (found == asked_.end()) {
        return;
    }
    on_answer(now, *found);
    Asked refused = *found;
    refused.left = 0;
    for (const wire::ChunkRun& run : lacking.runs) {
        if (run.block == found->block) {
            move(run, *found, refused);
        }
    }
    OpenBlock* open = map.find(found->block);
    pacer_.grant(std::uint64_t{refused.left} * packet_bytes_);  // It won't come.
    if (open != nullptr && refused.left > 0) {
        give_back(refused, *open);
        if (is_busy) {
            on_busy(now, refused, *open);
        } else {
            fail(now, refused, *open, false);
            peers_.on_lacking(from);
        }
    }
    if (found->left == 0) {
        end(static_cast<std::size_t>(found - asked_.begin()));
    }
}

/// Takes the run's chunks out of `asked` and puts them into `refused`.
void Puller::move(const wire::ChunkRun& run, Asked& asked, Asked& refused) {
    const std::uint32_t below = std::uint32_t{run.first} + run.count;
    for (std::uint8_t i = 0; i < asked.left;) {
        const std::uint16_t chunk = asked.chunks[i];
        if (chunk >= run.first && chunk < below && remove(asked, chunk)) {
            refused.chunks[refused.left++] = chunk;
            --in_flight_;
        } else {
            ++i;
        }
    }
}

void Puller::forget(BlockIndex block) {
    for (std::size_t i = asked_.size(); i-- > 0;) {
        if (asked_[i].block == block) {
            end(i);
        }
    }
}

void Puller::expire(Instant now, ChunkMap& map) {
    for (std::size_t i = asked_.size(); i-- > 0;) {
        if (now < asked_[i].expires_at) {
            continue;
        }
        const Asked late = asked_[i];
        end(i);
        if (late.is_replaced) {
            continue;
        }
        if (!late.has_given) {
            peers_.on_timeout(now, late.peer);
            late_.on_given_up(late.peer, late.block, late.chunks[0], late.sent_at);
        }
        search_rate(now, late);
        shrink_alone(now);
        if (OpenBlock* open = map.find(late.block); open != nullptr) {
            give_back(late, *open);
            fail(now, late, *open, true);
        }
    }
}

std::uint32_t Puller::wanted_below(const OpenBlock& open, Position settled) const {
    if (open.state != OpenState::filling || open.chunks == 0) {
        return 0;
    }
    if (open.block.value() < settled.block) {
        return open.chunks;
    }
    return open.block.value() == settled.block ? std::min(settled.chunk, open.chunks) : 0;
}

void Puller::poll(Instant now, Position settled, ChunkMap& map, ControlQueue& out) {
    expire(now, map);
    if (should_ask_anew(map)) {
        ask_anew(now, map);
    }
    if (now < next_look_) {
        return;
    }
    next_look_ = now + gather_time();
    pace_alone(now);
    look_at_.reset();
    follow_rate(now);
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        OpenBlock& open = map.at(i);
        const std::uint32_t below = wanted_below(open, settled);
        while (ask_block(now, open, below, out)) {
        }
        if (look_at_ && *look_at_ <= now) {
            break;  // no room left
        }
    }
    if (look_at_ && *look_at_ <= now) {
        // Requests wait for tokens or for answers. Outside the group a look is worth while for
        // either.
        const bool is_for_answers = pacer_.credit(now) > 0;
        if (alone_ && is_for_answers) {
            return look_at_.reset();
        }
        const Duration pause = is_for_answers ? answer_time() : limits_.look_time_min;
        look_at_ = std::max(pacer_.burst_at(now), now + pause);
        next_look_ = *look_at_;
    }
}

/// The first chunks of the block that are missing and not asked for.
void Puller::gather(const OpenBlock& open, std::uint32_t below, Asked& asked) const {
    std::uint32_t chunk = open.have.next_absent(0);
    const std::uint32_t most = request_max();
    while (chunk < below && asked.left < most) {
        if (!open.asked.has(chunk)) {
            asked.chunks[asked.left++] = static_cast<std::uint16_t>(chunk);
        }
        chunk = open.have.next_absent(chunk + 1);
    }
}

/// Asks for some chunks of the block. False if there is nothing to ask, or no room to.
bool Puller::ask_block(Instant now, OpenBlock& open, std::uint32_t below, ControlQueue& out) {
    Asked asked;
    asked.block = open.block;
    if (is_swarm()) {
        swarm_since_ = swarm_since_.value_or(now);
        gather_share(now, open, asked);
    } else {
        gather(open, below, asked);
    }
    if (asked.left == 0) {
        return false;
    }
    const bool is_own_share =
        is_swarm() && share_owner(now, open.block, asked.chunks[0]) == peers_.own();
    if (now < open.ask_after && !is_own_share) {
        look_again(open.ask_after);
        return false;
    }
    if (!has_room(now)) {
        look_again(now);
        return false;
    }
    ask(now, open, asked, out);
    return true;
}

void Puller::ask(Instant now, OpenBlock& open, Asked asked, ControlQueue& out) {
    const std::uint32_t copies_max = copies(open.block);
    const bool is_urgent = copies_max > 1;
    if (asked_.empty()) {
        search_.on_ask_anew(now);
    }
    std::array<Rank, kCopiesMax> chosen{};
    for (std::uint32_t copy = 0; copy < copies_max && asked_.size() < limits_.requests_max;
         ++copy) {
        asked.peer = choose(now, open, asked, {chosen.data(), copy});
        if (std::find(chosen.begin(), chosen.begin() + copy, asked.peer) !=
            chosen.begin() + copy) {
            break;  // no other peer is left
        }
        chosen[copy] = asked.peer;
        asked.id = draw_id();
        asked.sent_at = now;
        asked.expires_at = now + timeout(doublings(open), is_urgent);
        const wire::Request body{
            .id = asked.id, .runs = runs_of(open.block, {asked.chunks.data(), asked.left})};
        out.push_peer(wire::PacketType::request, asked.peer, wire::write(body));
        pacer_.charge(std::uint64_t{asked.left} * packet_bytes_);
        in_flight_ += asked.left;
        asked_.push_back(asked);
    }
    for (std::uint8_t i = 0; i < asked.left; ++i) {
        open.asked.add(asked.chunks[i]);
    }
}

Rank Puller::choose(Instant now,
                    const OpenBlock& open,
                    const Asked& asked,
                    std::span<const Rank> chosen) {
    // Some peer sent a wrong chunk. Which one is not known, but the source's chunks are right.
    if (open.bad_digests > 1 && chosen.empty()) {
        return peers_.source();
    }
    if (is_swarm() && chosen.empty()) {
        return choose_of_swarm(now, open, asked);
    }
    // During the first pass the source sends requested chunks to the group. So only a member
    // whose peers answered LACKING may ask it, not one whose answers were lost.
    const unsigned each = is_endgame_ ? 1U : std::max(copies(open.block), 1U);
    const unsigned failures = (is_ended_ ? open.failures : open.refusals) / each;
    if (chosen.empty() && failures >= failures_max()) {
        const unsigned over = std::min(failures - failures_max(), 16U);
        const std::uint64_t askers = std::uint64_t{limits_.source_askers} << over;
        if (peers_.prng().below(peers_.members()) < askers) {
            return peers_.source();
        }
    }
    std::array<Rank, std::tuple_size_v<decltype(open.lacking)> + kCopiesMax> avoid{};
    const std::size_t known = std::min<std::size_t>(open.lacking_count, open.lacking.size());
    std::copy_n(open.lacking.begin(), known, avoid.begin());
    std::copy(chosen.begin(), chosen.end(), avoid.begin() + static_cast<std::ptrdiff_t>(known));
    return peers_.draw(now, {avoid.data(), known + chosen.size()}, is_ended_);
}

std::optional<Instant> Puller::deadline() const {
    std::optional<Instant> first;
    if (look_at_) {
        first = std::max(*look_at_, next_look_);
    }
    for (const Asked& asked : asked_) {
        first = earlier(first, asked.expires_at);
    }
    return first;
}

/// How little is missing, where nothing else will come.
std::optional<std::uint32_t> Puller::missing_near_end(const ChunkMap& map) const {
    // Requested chunks are missing: most of the time that is enough to know.
    if (!is_ended_ || (!is_endgame_ && in_flight_ > limits_.endgame_chunks) ||
        map.held() + map.open_count() != map.blocks()) {
        return std::nullopt;
    }
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < map.open_count() && missing <= limits_.endgame_chunks; ++i) {
        const OpenBlock& open = map.at(i);
        missing += open.chunks == 0 ? map.blocks() : open.chunks - open.have.count();
    }
    return missing <= limits_.endgame_chunks ? std::optional{missing} : std::nullopt;
}

/// Chunks that the link carries in an RTT.
std::uint64_t Puller::trip_chunks() const {
    const Duration each = time_of(packet_bytes_);
    return round_trip_.is_known() && each > Duration::zero()
               ? static_cast<std::uint64_t>(round_trip_.mean() / each)
               : 0;
}

/// The end-game begins; or most of the requested chunks arrived, and the rest may be lost:
/// requesting them again costs less than waiting, if an RTT is longer than the answers.
bool Puller::should_ask_anew(const ChunkMap& map) {
    const auto missing = missing_near_end(map);
    const bool was_endgame = std::exchange(is_endgame_, missing.has_value());
    if (!missing || *missing == 0) {
        return false;
    }
    const bool is_part = *missing * limits_.endgame_part <= missing_;
    const bool is_cheap = std::uint64_t{*missing} * limits_.endgame_peers <= trip_chunks();
    if (was_endgame && !(is_part && is_cheap)) {
        return false;
    }
    missing_ = *missing;
    return true;
}

/// What one peer was asked for is requested from others, too, and at once: its answer may be
/// lost, and there is nothing else to wait for.
void Puller::ask_anew(Instant now, ChunkMap& map) {
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        map.at(i).asked.clear();
    }
    const Instant soon = now + timeout(0, true);
    for (Asked& asked : asked_) {
        asked.expires_at = std::min(asked.expires_at, soon);
        asked.is_replaced = true;
    }
    look(now, true);
}

/// The number of peers of which a chunk is requested at once. The first block says where all
/// others go: until it is here they cannot be stored.
std::uint32_t Puller::copies(BlockIndex block) const {
    const bool is_urgent = is_endgame_ || block.value() == 0;
    return is_urgent ? std::min<std::uint32_t>(limits_.endgame_peers, peers_.members() - 1U)
                     : 1;
}

/// How often the time-out doubles: one or two time-outs are lost packets, more mean a network
/// without room or without a path.
std::uint32_t Puller::doublings(const OpenBlock& open) const {
    const std::uint32_t rounds = open.silences / std::max(copies(open.block), 1U);
    return rounds - std::min<std::uint32_t>(rounds, limits_.silences_free);
}

/// What a whole request takes at this member's rate, and so at its peers': an answer may have
/// to wait for another asker's.
Duration Puller::turn() const {
    return time_of(std::uint64_t{limits_.request_chunks_max} * packet_bytes_);
}

Duration Puller::timeout(std::uint32_t failures, bool is_urgent) const {
    if (is_urgent) {
        return round_trip_.hasty_timeout(failures,
                                         std::max(limits_.endgame_margin_min, turn()));
    }
    const Duration usual = round_trip_.timeout(failures, std::max(margin(), 2 * turn()));
    // Outside the group a time-out would count as a loss of the path.
    return alone_ ? std::clamp(
                        late_.slowest() + margin(), usual, std::max(usual, limits_.timeout_max))
                  : usual;
}

namespace {

/// Random loss takes as much however slow the requests are: this part of the stream's rate is
/// never too much.
constexpr unsigned kLeastPart = 16;

}  // namespace

/// The share of the rate that repairs may have beside the stream.
std::uint64_t Puller::stream_share() const {
    return std::max<std::uint64_t>(rate_ / 100 * limits_.stream_share_percent, 1);
}

/// Each rate is followed once: what repairs found out since is newer. And a stream that pauses
/// is no slower for the path's sake. (It may wait for just these repairs: they would follow it,
/// and it them, down to the least rate.)
void Puller::on_stream(Instant now, const StreamRate& stream) {
    if (is_configured_ || has_link(now) || alone_ || stream.bytes_per_s == followed_ ||
        (is_stream_known_ && !stream.is_steady)) {
        return;
    }
    followed_ = stream.bytes_per_s;
    is_stream_known_ = true;
    least_rate_ = std::clamp(stream.bytes_per_s / kLeastPart,
                             rate_limits_.least_bytes_per_s,
                             rate_limits_.most_bytes_per_s);
    set_rate(stream.bytes_per_s / 10 * 9);
}

void Puller::set_rate(std::uint64_t bytes_per_s) {
    rate_ = std::clamp(bytes_per_s, least_rate_, rate_limits_.most_bytes_per_s);
}

/// The first pass is over, or stands still: perhaps it waits for what is asked for here.
bool Puller::has_link(Instant now) const {
    return is_ended_ || (stream_at_ && now >= *stream_at_ + limits_.stream_pause);
}

void Puller::follow_rate(Instant now) {
    const std::uint64_t rate = has_link(now) ? rate_ : stream_share();
    if (!alone_ && rate != pacer_.rate_bytes_per_s()) {
        pacer_.set_rate(now, rate);
    }
}

/// Searches for the rate if none is configured and no stream shows it.
void Puller::search_rate(Instant now, const Asked& ended) {
    if (is_configured_ || alone_ || (is_stream_known_ && !has_link(now))) {
        return;
    }
    set_rate(search_.on_request(now, ended.sent_at, ended.given, ended.left, rate_));
}

namespace {

/// After this number of members in a row that are no owners a member owns the share itself.
constexpr std::uint32_t kPassedOver = 16;
/// Times the usual number of refusals, before the source is asked for the shares of others.
constexpr unsigned kScatterFactor = 4;

}  // namespace

/// The time in which all members that need data can have received some of their first share
/// from the source, and have sent some of it.
Duration Puller::swarm_start() const {
    const std::uint64_t share = std::uint64_t{limits_.request_chunks_max} * packet_bytes_;
    return std::max<Duration>(limits_.swarm_start_min, 2 * time_of(share * peers_.members()));
}

/// A member that holds the object from before owns no share: it lacks what it is asked for and
/// never sends anything. Neither does one that lets requests time out.
bool Puller::is_share_owner(Instant now, Rank peer) const {
    if (peer == peers_.own()) {
        return true;
    }
    const bool may_have = now < *swarm_since_ + swarm_start() || peers_.has_given(peer) ||
                          !peers_.has_lacked(peer);
    return may_have && !peers_.is_suspect(now, peer);
}

/// Shares are as long as a request, and go round among the receivers; what one of them doesn't
/// keep the next one does.
Rank Puller::share_owner(Instant now, BlockIndex block, std::uint32_t chunk) const {
    const std::uint32_t length = limits_.request_chunks_max;
    const std::uint32_t chunks = (kBlockBytes - 1) / (packet_bytes_ - kWireOverheadBytes) + 1;
    const std::uint64_t share =
        std::uint64_t{block.value()} * ((chunks + length - 1) / length) + chunk / length;
    const std::uint32_t receivers = peers_.members() - 1U;
    for (std::uint32_t i = 0; i < std::min(receivers, kPassedOver); ++i) {
        const auto receiver = static_cast<std::uint16_t>((share + i) % receivers);
        const bool is_behind = receiver >= peers_.source().value();
        const Rank peer{static_cast<std::uint16_t>(receiver + (is_behind ? 1U : 0U))};
        if (is_share_owner(now, peer)) {
            return peer;
        }
    }
    return peers_.own();
}

/// By this member's part of what a path takes: few have it all under way.
bool Puller::is_source_busy() const {
    const std::uint32_t part = window() / request_max() / (peers_.members() - 1U);
    return std::cmp_greater_equal(std::ranges::count(asked_, peers_.source(), &Asked::peer),
                                  std::max<std::uint32_t>(limits_.share_requests, part));
}

/// Chunks of one share, the own ones first; then of those that follow.
void Puller::gather_share(Instant now, const OpenBlock& open, Asked& asked) const {
    const std::uint32_t length = limits_.request_chunks_max;
    const std::uint32_t shares = (open.chunks + length - 1) / length;
    std::uint32_t first = shares * peers_.own().value() / peers_.members();
    for (std::uint32_t i = 0; i < shares; ++i) {
        if (share_owner(now, open.block, i * length) == peers_.own()) {
            first = i;
            break;
        }
    }
    const bool is_source_busy_now = is_source_busy();
    const std::uint32_t most = request_max();
    for (std::uint32_t i = 0; i < shares && asked.left == 0; ++i) {
        const std::uint32_t later = i > 0 ? 1 + (i - 1 + open.failures) % (shares - 1) : 0;
        const std::uint32_t begin = (first + later) % shares * length;
        if (is_source_busy_now && share_owner(now, open.block, begin) == peers_.own()) {
            continue;
        }
        const std::uint32_t end = std::min(begin + length, open.chunks);
        for (std::uint32_t chunk = open.have.next_absent(begin);
             chunk < end && asked.left < most;
             chunk = open.have.next_absent(chunk + 1)) {
            if (!open.asked.has(chunk)) {
                asked.chunks[asked.left++] = static_cast<std::uint16_t>(chunk);
            }
        }
    }
}

/// A peer that lacks the chunks is next asked for others, and these from other peers: so the
/// source is seldom asked twice.
Rank Puller::choose_of_swarm(Instant now, const OpenBlock& open, const Asked& asked) {
    const Rank peer = share_owner(now, open.block, asked.chunks[0]);
    if (peer == peers_.own()) {
        // (If some members hear the group, any of them has it.)
        return open.failures == 0 ? peers_.draw_any(now, {}) : peers_.source();
    }
    const unsigned over = open.failures / (kScatterFactor * limits_.failures_before_source);
    if (over > 0 && peers_.prng().below(peers_.members()) < (1ULL << std::min(over, 16U))) {
        return peers_.source();
    }
    return open.failures % 2 == 0 ? peer : peers_.draw_any(now, {&peer, 1});
}

namespace {

/// Faster than the window's own pace, so that the window bounds what is under way.
constexpr double kPace = 1.25;
/// Times the usual number of peers are asked before the source, while it has others to serve.
constexpr unsigned kFetchFactor = 4;

double trip_of(const RttEstimator& trip) {
    return std::max(static_cast<double>(trip.mean().count()) / 1e9, 1e-4);
}

}  // namespace

std::uint32_t Puller::window() const {
    if (alone_) {
        return alone_window();
    }
    const Duration slack =
        std::min(round_trip_.jitter(limits_.in_flight_slack), limits_.in_flight_slack);
    const Duration span = round_trip_.mean() + slack;
    const std::uint64_t bytes =
        pacer_.rate_bytes_per_s() / 1'000'000 * static_cast<std::uint64_t>(span.count() / 500);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        bytes / packet_bytes_, limits_.in_flight_chunks_min, limits_.in_flight_chunks_max));
}

/// A request asks for chunks of one block: to gather for longer than that takes saves none.
Duration Puller::gather_time() const {
    return std::min(limits_.gather_time, time_of(kBlockBytes));
}

/// What one request asked for takes so long to come, and makes room for the next.
Duration Puller::answer_time() const {
    const std::uint64_t bytes = std::uint64_t{request_max()} * packet_bytes_;
    return std::clamp(stage::time_of(bytes, pacer_.rate_bytes_per_s()),
                      limits_.look_time_min,
                      limits_.gather_time);
}

bool Puller::has_room(Instant now) {
    // (Of a window's room a request uses a good part: else each answer would bring a new one.)
    if (alone_ && in_flight_ + std::max(request_max() / 2, 1U) > window()) {
        return false;
    }
    return asked_.size() < limits_.requests_max && in_flight_ < window() &&
           pacer_.credit(now) > 0;
}

void Puller::set_alone(Instant now, std::uint64_t bytes_per_s) {
    const bool is_alone = bytes_per_s > 0;
    alone_rate_ = bytes_per_s;
    if (is_alone == alone_.has_value()) {
        return;
    }
    if (is_alone) {
        alone_.emplace().begin(now, alone_first_);
        pace_alone(now);
    } else {
        alone_.reset();
        follow_rate(now);
    }
    look(now, true);
}

std::uint32_t Puller::alone_window() const {
    return std::clamp(
        static_cast<std::uint32_t>(alone_->packets()), 2U, limits_.in_flight_chunks_max);
}

void Puller::pace_alone(Instant now) {
    if (!alone_) {
        return;
    }
    const double wanted = kPace * alone_window() * packet_bytes_ / trip_of(round_trip_);
    const auto rate = std::max(static_cast<std::uint64_t>(std::min(wanted, 1e12)),
                               rate_limits_.least_bytes_per_s);
    pacer_.set_rate(now, std::max<std::uint64_t>(std::min(rate, alone_rate_), 1));
}

/// The path lost something.
void Puller::shrink_alone(Instant now) {
    if (alone_) {
        alone_->on_loss(now, trip_of(round_trip_));
    }
}

/// A chunk arrived. A window that is not full says nothing about the path's capacity.
void Puller::grow_alone(Instant now) {
    if (!alone_) {
        return;
    }
    if (in_flight_ + request_max() >= alone_window()) {
        alone_->grow(now, trip_of(round_trip_));
    } else {
        alone_->rest(now);
    }
    look(now, true);
}

/// A request takes half of a small window: the other half is under way meanwhile.
std::uint32_t Puller::request_max() const {
    return alone_
               ? std::clamp<std::uint32_t>(alone_window() / 2, 1U, limits_.request_chunks_max)
               : limits_.request_chunks_max;
}

/// Many of the peers may be outside the group as well, and the source has its stream to send.
unsigned Puller::failures_max() const {
    const unsigned most = limits_.failures_before_source;
    return alone_ && !is_ended_ ? kFetchFactor * most : most;
}

}  // namespace stage::core

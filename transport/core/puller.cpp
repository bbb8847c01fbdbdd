#include "transport/core/puller.h"

#include "transport/base/invariant.h"
#include "transport/core/repeater.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stage::core {
namespace {

constexpr std::uint32_t kCopiesMax = 8;

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
      is_told_{config.rate_bytes_per_s > 0},
      least_rate_{limits.rate.least_bytes_per_s},
      rate_{is_told_ ? config.rate_bytes_per_s : limits.rate.start_bytes_per_s},
      search_{packet_bytes_},
      pacer_{limits.pacer, stream_share(), packet_bytes_},
      peers_{config, prng},
      round_trip_{{.first = limits.repair.timeout_first,
                   .margin_min = limits.repair.endgame_margin_min,
                   .max = limits.repair.timeout_max}},
      alone_first_{limits.leave.pull_window_first} {
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
        }
        if (asked.left == 0) {
            search_rate(now, asked);
            end(i);
        }
    }
}

/// The peer asked gave something: that is a round trip, and a sign of life.
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

/// What was asked before any round trip was seen needn't wait for the time-out of the unknown.
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

/// A request gave nothing: the block's next one goes elsewhere, and after several in a row
/// later.
void Puller::fail(Instant now, const Asked& asked, OpenBlock& open, bool was_silent) {
    constexpr unsigned kMany = 250;
    open.lacking[open.lacking_count % open.lacking.size()] = asked.peer;
    ++open.lacking_count;
    open.failures = static_cast<std::uint8_t>(std::min(open.failures + 1U, kMany));
    open.silences =
        was_silent ? static_cast<std::uint8_t>(std::min(open.silences + 1U, kMany)) : 0;
    open.refusals =
        static_cast<std::uint8_t>(std::min(open.refusals + (was_silent ? 0U : 1U), kMany));
    const unsigned rounds = open.failures / std::max(copies(open.block), 1U);
    const unsigned over = rounds - std::min<unsigned>(rounds, limits_.failures_before_source);
    if (over > 0) {
        const Duration pause = round_trip_.mean() * (std::int64_t{1} << std::min(over, 6U));
        open.ask_after = now + std::min(pause, limits_.pause_max);
    }
    next_look_ = now;
    look_again(now);
}

void Puller::on_lacking(Instant now, Rank from, const wire::Request& lacking, ChunkMap& map) {
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
        fail(now, refused, *open, false);
        peers_.on_lacking(from);
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
        // Asking waits for the pacer or for answers; these make a look worth while by
        // themselves to who fetches alone.
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
        is_swarm() && keeper(now, open.block, asked.chunks[0]) == peers_.own();
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
            break;  // nobody else is left
        }
        chosen[copy] = asked.peer;
        asked.id = draw_id();
        asked.sent_at = now;
        asked.expires_at = now + timeout(patience(open), is_urgent);
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
    // Somebody gave on what is wrong; who did it isn't known, and the source's is right.
    if (open.bad_digests > 1 && chosen.empty()) {
        return peers_.source();
    }
    if (is_swarm() && chosen.empty()) {
        return choose_of_swarm(now, open, asked);
    }
    // Beside the first pass the source sends to all what it is asked for: only who heard from
    // peers that they lack it may ask, not who lost their answers.
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

}  // namespace stage::core

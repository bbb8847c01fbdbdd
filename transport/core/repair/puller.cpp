#include "transport/core/repair/puller.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stage::core {
namespace {

/// Chunks below the result may be requested: those before the settled edge.
std::uint32_t wanted_below(const OpenBlock& open, Position settled) {
    if (open.state != OpenState::filling || open.chunks == 0) {
        return 0;
    }
    if (open.block.value() < settled.block) {
        return open.chunks;
    }
    return open.block.value() == settled.block ? std::min(settled.chunk, open.chunks) : 0;
}

}  // namespace

Puller::Puller(const CoreConfig& config, const Limits& limits, Prng& prng)
    : limits_{limits.repair},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      rate_{config, limits},
      pacer_{limits.pacer, rate_.share_bytes_per_s(), packet_bytes_},
      peers_{config, prng},
      round_trip_{{.first = limits.repair.timeout_first,
                   .margin_min = limits.repair.endgame_margin_min,
                   .max = limits.repair.timeout_max}},
      requests_{limits.repair.requests_max},
      failures_{limits.repair},
      group_{limits.repair, packet_bytes_},
      fetch_{limits, packet_bytes_},
      scatter_{limits.repair, config.chunk_bytes},
      end_game_{limits.repair, config.members} {
    invariant(limits_.request_chunks_max <= RepairRequest::kChunksMax,
              "a request's chunks fit their record");
}

void Puller::on_end(Instant now) {
    rate_.on_end();
    if (!fetch_.is_outside()) {
        pacer_.set_rate(now, rate_.bytes_per_s());
    }
    look(now, true);
}

void Puller::set_alone(Instant now, std::uint64_t bytes_per_s) {
    if (fetch_.set_outside(now, bytes_per_s)) {
        set_pace(now);
        look(now, true);
    }
}

void Puller::on_stream(Instant now, const StreamRate& stream) {
    if (!fetch_.is_outside()) {
        rate_.on_stream(now, stream);
    }
}

void Puller::on_arrival(Instant now, Rank from, OpenBlock& open, std::uint32_t chunk) {
    open.asked.remove(chunk);
    if (late_.on_arrival(now, from, open.block, chunk)) {
        peers_.on_answer(from);
    }
    if (fetch_.is_outside()) {
        fetch_.on_arrival(now, requests_.chunks_in_flight(), round_trip_);
        look(now, true);
    }
    bool is_counted = false;
    for (std::size_t i = requests_.all().size(); i-- > 0;) {
        RepairRequest& request = requests_.all()[i];
        if (!requests_.on_arrival(i, open.block, chunk)) {
            continue;
        }
        if (!std::exchange(is_counted, true)) {  // Several peers may have been asked.
            rate_.on_arrival(now);
        }
        if (request.peer == from) {
            on_answer(now, request);
            peers_.on_given(from);
            BlockFailures::on_given(open);
        }
        if (request.left == 0) {
            end(now, request);
            requests_.end(i);
        }
    }
}

/// The requested peer sent something: an RTT sample, and a sign of life.
void Puller::on_answer(Instant now, RepairRequest& request) {
    if (!request.has_given) {
        const bool is_first = !round_trip_.is_known();
        round_trip_.on_sample(now - request.sent_at);
        request.has_given = true;
        if (is_first) {
            // Requests sent before need not wait for the first time-out.
            for (RepairRequest& each : requests_.all()) {
                each.expires_at = std::min(each.expires_at, each.sent_at + timeout(each.block));
            }
        }
    }
    request.expires_at = now + timeout(request.block);
    peers_.on_answer(request.peer);
}

/// The rate search judges a request that ends.
void Puller::end(Instant now, const RepairRequest& ended) {
    if (!fetch_.is_outside()) {
        rate_.on_request_end(now, ended);
    }
}

void Puller::fail(Instant now,
                  const RepairRequest& failed,
                  BlockFailures::Kind kind,
                  OpenBlock& open) {
    requests_.give_back(failed, open);
    failures_.on_failure({.now = now,
                          .peer = failed.peer,
                          .kind = kind,
                          .copies = end_game_.copies(open.block),
                          .round_trip = round_trip_.mean()},
                         open);
    look(now, true);
}

void Puller::on_lacking(
    Instant now, Rank from, const wire::Request& lacking, bool is_busy, ChunkMap& map) {
    const auto index = requests_.find(lacking.id, from);
    if (!index) {
        return;
    }
    on_answer(now, requests_.all()[*index]);
    const RepairRequest refused = requests_.refuse(*index, lacking.runs);
    pacer_.grant(bytes_of(refused.left));  // It won't come.
    OpenBlock* open = map.find(refused.block);
    if (open != nullptr && refused.left > 0) {
        // (In a swarm failures choose among the owners of a share.)
        const bool is_failure = !is_busy || is_swarm();
        fail(now,
             refused,
             is_failure ? BlockFailures::Kind::refusal : BlockFailures::Kind::busy,
             *open);
        if (!is_busy) {
            peers_.on_lacking(from);
        }
    }
    if (requests_.all()[*index].left == 0) {
        requests_.end(*index);
    }
}

void Puller::expire(Instant now, ChunkMap& map) {
    while (const auto late = requests_.take_expired(now)) {
        if (late->is_replaced) {
            continue;
        }
        if (!late->has_given) {
            peers_.on_timeout(now, late->peer);
            late_.on_given_up(late->peer, late->block, late->chunks[0], late->sent_at);
        }
        end(now, *late);
        if (fetch_.is_outside()) {
            fetch_.on_timeout(now, round_trip_);
        }
        if (OpenBlock* open = map.find(late->block); open != nullptr) {
            fail(now, *late, BlockFailures::Kind::timeout, *open);
        }
    }
}

/// What one peer was asked for is requested from others, too, and at once.
void Puller::request_anew(Instant now, ChunkMap& map) {
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        map.at(i).asked.clear();
    }
    requests_.replace_all(now + hasty_timeout());
    look(now, true);
}

void Puller::poll(Instant now, Position settled, ChunkMap& map, ControlQueue& out) {
    expire(now, map);
    const EndGame::Path path{.round_trip = round_trip_, .packet_time = time_of(packet_bytes_)};
    if (rate_.is_ended() && end_game_.look(map, requests_.chunks_in_flight(), path)) {
        request_anew(now, map);
    }
    if (!looks_.begin(now, gather_time())) {
        return;
    }
    set_pace(now);
    for (std::size_t i = 0; i < map.open_count() && !looks_.has_no_room(now); ++i) {
        OpenBlock& open = map.at(i);
        const std::uint32_t below = wanted_below(open, settled);
        while (ask_block(now, open, below, out)) {
        }
    }
    if (looks_.has_no_room(now)) {
        wait_for_room(now);
    }
}

/// Requests wait for tokens or for answers. Outside the group a look is worth while for either.
void Puller::wait_for_room(Instant now) {
    const bool is_for_answers = pacer_.credit(now) > 0;
    if (fetch_.is_outside() && is_for_answers) {
        return looks_.wait_for_answers();
    }
    const Duration pause = is_for_answers ? answer_time() : limits_.look_time_min;
    looks_.wait_until(std::max(pacer_.burst_at(now), now + pause));
}

/// Asks for some chunks of the block. False if there is nothing to ask, or no room to.
bool Puller::ask_block(Instant now, OpenBlock& open, std::uint32_t below, ControlQueue& out) {
    const RepairRequest request = gather(now, open, below);
    if (request.left == 0) {
        return false;
    }
    if (now < open.ask_after && !is_own_share(request)) {
        looks_.look(open.ask_after);
        return false;
    }
    if (!has_room(now)) {
        looks_.look(now);
        return false;
    }
    ask(now, open, request, out);
    return true;
}

/// The next missing chunks of the block that are not requested, for one request.
RepairRequest Puller::gather(Instant now, const OpenBlock& open, std::uint32_t below) {
    RepairRequest request;
    request.block = open.block;
    if (!is_swarm()) {
        request.gather(open, 0, below, request_max());
        return request;
    }
    scatter_.begin(now, time_of(bytes_of(limits_.request_chunks_max) * peers_.members()));
    scatter_.gather(open,
                    {.chunks_max = request_max(),
                     .window = window(),
                     .requests_at_source = requests_.count_at(peers_.source())},
                    peers_,
                    request);
    return request;
}

void Puller::ask(Instant now, OpenBlock& open, RepairRequest request, ControlQueue& out) {
    if (requests_.is_empty()) {
        rate_.on_first_request(now);
    }
    const std::uint32_t copies = end_game_.copies(open.block);
    std::array<Rank, EndGame::kCopiesMax> chosen{};
    for (std::uint32_t copy = 0; copy < copies && !requests_.is_full(); ++copy) {
        const std::span<const Rank> others{chosen.data(), copy};
        request.peer = choose(now, open, request, others);
        if (std::ranges::find(others, request.peer) != others.end()) {
            break;  // no other peer is left
        }
        chosen[copy] = request.peer;
        request.id = draw_id();
        request.sent_at = now;
        request.expires_at = now + timeout(open.block, failures_.doublings(open, copies));
        out.push_peer(wire::PacketType::request, request.peer, wire::write(request.body()));
        pacer_.charge(bytes_of(request.left));
        requests_.add(request);
    }
    for (const std::uint16_t chunk : request.expected()) {
        open.asked.add(chunk);
    }
}

Rank Puller::choose(Instant now,
                    const OpenBlock& open,
                    const RepairRequest& request,
                    std::span<const Rank> chosen) {
    // Some peer sent a wrong chunk. Which one is not known, but the source's chunks are right.
    if (open.bad_digests > 1 && chosen.empty()) {
        return peers_.source();
    }
    if (is_swarm() && chosen.empty()) {
        return scatter_.choose(open, request, peers_);
    }
    return group_.choose({.now = now,
                          .chosen = chosen,
                          .copies = end_game_.is_on() ? 1 : end_game_.copies(open.block),
                          .is_ended = rate_.is_ended(),
                          .is_outside = fetch_.is_outside()},
                         open,
                         peers_);
}

void Puller::set_pace(Instant now) {
    const std::uint64_t rate = fetch_.is_outside() ? fetch_.rate_bytes_per_s(round_trip_)
                                                   : rate_.part_bytes_per_s(now);
    if (fetch_.is_outside() || rate != pacer_.rate_bytes_per_s()) {
        pacer_.set_rate(now, rate);
    }
}

bool Puller::has_room(Instant now) {
    const std::uint32_t in_flight = requests_.chunks_in_flight();
    if (fetch_.is_outside() && !fetch_.has_room(in_flight)) {
        return false;
    }
    return !requests_.is_full() && in_flight < window() && pacer_.credit(now) > 0;
}

std::uint32_t Puller::window() const {
    return fetch_.is_outside() ? fetch_.chunks()
                               : group_.window(round_trip_, pacer_.rate_bytes_per_s());
}

std::uint32_t Puller::request_max() const {
    return fetch_.is_outside() ? fetch_.request_max()
                               : std::uint32_t{limits_.request_chunks_max};
}

/// Where several peers are asked for the same a duplicate costs little.
Duration Puller::hasty_timeout(std::uint32_t failures) const {
    return round_trip_.hasty_timeout(failures, std::max(limits_.endgame_margin_min, turn()));
}

Duration Puller::timeout(BlockIndex block, std::uint32_t failures) const {
    if (end_game_.copies(block) > 1) {
        return hasty_timeout(failures);
    }
    const Duration usual = round_trip_.timeout(failures, std::max(margin(), 2 * turn()));
    // Outside the group a time-out would count as a loss of the path.
    return fetch_.is_outside()
               ? std::clamp(
                     late_.slowest() + margin(), usual, std::max(usual, limits_.timeout_max))
               : usual;
}

/// A request asks for chunks of one block: to gather for longer than that takes saves none.
Duration Puller::gather_time() const {
    return std::min(limits_.gather_time, time_of(kBlockBytes));
}

/// What one request asked for takes so long to come, and makes room for the next.
Duration Puller::answer_time() const {
    return std::clamp(stage::time_of(bytes_of(request_max()), pacer_.rate_bytes_per_s()),
                      limits_.look_time_min,
                      limits_.gather_time);
}

}  // namespace stage::core

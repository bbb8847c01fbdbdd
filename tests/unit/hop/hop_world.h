// Two ends of a hop with a path between them: rate, queue, delay, loss, other order, doubles.
#pragma once

#include "transport/base/prng.h"
#include "transport/hop/hop_link.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace stage::hop::test {

struct Path {
    std::uint64_t bytes_per_s = 12'500'000;
    std::uint64_t queue_bytes = 625'000;
    Duration one_way = std::chrono::milliseconds{25};
    std::uint32_t loss_ppm = 0;
    std::uint32_t reorder_ppm = 0;  ///< By up to a quarter of the delay.
    std::uint32_t double_ppm = 0;
    Duration wake = std::chrono::microseconds{1};  ///< The ends act at multiples of it.
    std::size_t datagram_bytes = kShortDatagram;
};

inline constexpr std::size_t kWireBytes = 66;  ///< Ethernet, IP and UDP around a datagram.

/// Moves datagrams between the ends until both have sent all, or `most` has passed.
class HopWorld {
  public:
    HopWorld(Path path, std::uint64_t seed) : path_{path}, prng_{seed} {
        for (std::size_t end = 0; end < 2; ++end) {
            ends[end].begin(now,
                            {.to = 2 - end,
                             .datagram_bytes = path.datagram_bytes,
                             .round_trip = 2 * path.one_way});
        }
    }

    /// Refills and takes: called before each event.
    std::function<void()> on_turn = [] {};
    std::array<HopLink, 2> ends{HopLink{1, 0}, HopLink{2, 0}};
    std::array<std::vector<std::vector<std::byte>>, 2> arrived;
    Instant now{std::chrono::seconds{1}};
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;            ///< By the queue.
    std::size_t longest = kLongDatagram;  ///< The path carries none that is longer.

    /// True if `is_done` said so in time.
    [[nodiscard]] bool run(Duration most, const std::function<bool()>& is_done) {
        const Instant end = now + most;
        while (now < end) {
            for (HopLink& link : ends) {
                link.on_time(now);
            }
            on_turn();
            for (std::size_t from = 0; from < 2; ++from) {
                leave(from);
                ends[from].take(arrived[from]);
            }
            if (is_done()) {
                return true;
            }
            step(end);
        }
        return false;
    }

  private:
    struct Datagram {
        std::size_t to = 0;
        std::vector<std::byte> bytes;
    };

    void leave(std::size_t from) {
        std::array<std::byte, kLongDatagram> room;
        while (const std::size_t bytes = ends[from].next(now, room)) {
            ++sent;
            carry(from, {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(bytes)});
        }
    }

    void carry(std::size_t from, std::vector<std::byte> bytes) {
        if (bytes.size() > longest) {
            return;
        }
        Instant& free_at = free_at_.at(from);
        const Instant begin = std::max(free_at, now);
        if (begin - now > time_of(path_.queue_bytes, path_.bytes_per_s)) {
            ++dropped;
            return;
        }
        free_at = begin + time_of(bytes.size() + kWireBytes, path_.bytes_per_s);
        if (prng_.chance_ppm(path_.loss_ppm)) {
            return;
        }
        Instant due = free_at + path_.one_way;
        if (prng_.chance_ppm(path_.reorder_ppm)) {
            due += Duration{static_cast<Duration::rep>(
                prng_.below(static_cast<std::uint64_t>(path_.one_way.count()) / 4 + 1))};
        }
        if (prng_.chance_ppm(path_.double_ppm)) {
            under_way_.emplace(due + std::chrono::milliseconds{1}, Datagram{1 - from, bytes});
        }
        under_way_.emplace(due, Datagram{1 - from, std::move(bytes)});
    }

    void step(Instant end) {
        Instant next = end;
        for (const HopLink& link : ends) {
            next = std::min(next, link.deadline().value_or(end));
        }
        if (!under_way_.empty()) {
            next = std::min(next, under_way_.begin()->first);
        }
        const auto turns = (next - Instant{} + path_.wake - Duration{1}) / path_.wake;
        now = std::max(Instant{turns * path_.wake}, now + path_.wake);
        while (!under_way_.empty() && under_way_.begin()->first <= now) {
            const auto datagram = under_way_.extract(under_way_.begin());
            const Bytes bytes = datagram.mapped().bytes;
            const auto head = read_head(bytes);
            if (head && head->kind != Kind::confirm) {
                ends.at(datagram.mapped().to).on_datagram(now, head->kind, bytes);
            }
        }
    }

    Path path_;
    Prng prng_;
    std::array<Instant, 2> free_at_{};
    std::multimap<Instant, Datagram> under_way_;
};

/// A packet that says its number, of a length that follows from it.
inline std::vector<std::byte> packet_no(std::uint32_t number, std::size_t bytes) {
    std::vector<std::byte> packet(std::max<std::size_t>(bytes, sizeof number));
    std::memcpy(packet.data(), &number, sizeof number);
    for (std::size_t i = sizeof number; i < packet.size(); ++i) {
        packet[i] = static_cast<std::byte>(number + i);
    }
    return packet;
}

inline std::uint32_t number_in(Bytes packet) {
    std::uint32_t number = 0;
    std::memcpy(&number, packet.data(), sizeof number);
    return number;
}

}  // namespace stage::hop::test

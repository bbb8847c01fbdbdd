// Tests how fragments of short messages are put together.
#include "stager/mpi/bcast/short_window.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace stage {
namespace {

using Message = std::vector<std::byte>;
constexpr Rank kSource{3};
constexpr std::size_t kMany = ShortWindow::kCalls;

/// No two calls have the same.
Message message_of(std::uint64_t call, std::size_t length) {
    Message message(length);
    for (std::size_t i = 0; i < length; ++i) {
        message[i] = static_cast<std::byte>((call * 31 + i * 7 + i / 256) & 0xffU);
    }
    return message;
}

struct Packet {
    ShortHeader header;
    Message fragment;
};

std::vector<Packet> packets_of(std::uint64_t call, std::size_t length, Rank source = kSource) {
    const Message message = message_of(call, length);
    std::vector<Packet> packets;
    for (std::size_t i = 0; i < short_fragments(length); ++i) {
        const Bytes fragment = short_fragment(message, i);
        packets.push_back({.header = {.mark = 0,
                                      .source = source,
                                      .length = static_cast<std::uint16_t>(length),
                                      .number = call * kShortFragments + i},
                           .fragment = {fragment.begin(), fragment.end()}});
    }
    return packets;
}

void keep_all(ShortWindow& window, const std::vector<Packet>& packets) {
    for (const Packet& packet : packets) {
        window.keep(packet.header, packet.fragment);
    }
}

bool has(const ShortWindow& window, std::uint64_t call, std::size_t length) {
    return std::ranges::equal(window.message(kSource, length), message_of(call, length));
}

}  // namespace

TEST_CASE("a short message is whole when its last fragment has come, in any order") {
    const std::size_t length = GENERATE(1U, 2U, 1024U, 1025U, 5000U, 8191U, 8192U);
    CAPTURE(length);
    std::vector<Packet> packets = packets_of(0, length);
    std::mt19937 random{static_cast<unsigned>(length)};
    std::ranges::shuffle(packets, random);
    ShortWindow window;
    window.begin(0);
    for (const Packet& packet : packets) {
        CHECK(window.message(kSource, length).empty());
        window.keep(packet.header, packet.fragment);
        window.keep(packet.header, packet.fragment);  // A repeated one changes nothing.
    }
    CHECK(has(window, 0, length));
}

TEST_CASE("messages of the next calls are kept, and no others") {
    constexpr std::uint64_t kCall = 1000;
    ShortWindow window;
    window.begin(kCall);
    for (std::uint64_t call = kCall - 3; call < kCall + kMany + 3; ++call) {
        keep_all(window, packets_of(call, 2000));
    }
    for (std::uint64_t call = kCall; call < kCall + kMany + 3; ++call) {
        CAPTURE(call);
        window.begin(call);
        CHECK(has(window, call, 2000) == (call < kCall + kMany));
    }
}

TEST_CASE("what an earlier call left in its place is no part of a later one") {
    ShortWindow window;
    window.begin(0);
    window.keep(packets_of(0, 2000)[0].header, packets_of(0, 2000)[0].fragment);
    window.begin(kMany);
    CHECK(window.message(kSource, 2000).empty());
    window.keep(packets_of(kMany, 2000)[1].header, packets_of(kMany, 2000)[1].fragment);
    CHECK(window.message(kSource, 2000).empty());
    keep_all(window, packets_of(kMany, 2000));
    CHECK(has(window, kMany, 2000));
    window.begin(2 * kMany);
    CHECK(window.message(kSource, 2000).empty());
}

TEST_CASE(
    "a short message counts only from the source and of the length that its receiver names") {
    ShortWindow window;
    window.begin(7);
    keep_all(window, packets_of(7, 2000));
    keep_all(window, packets_of(7, 2000, Rank{4}));
    CHECK(window.message(Rank{4}, 2000).empty());
    CHECK(window.message(kSource, 1999).empty());
    CHECK(window.message(kSource, 1).empty());
    CHECK(has(window, 7, 2000));
}

TEST_CASE("fragments that make no sense are dropped") {
    const Message fragment(1024);
    const auto [length, number, bytes] = GENERATE(table<int, int, std::size_t>({
        {0, 0, 0},        // No message,
        {8193, 0, 1024},  // one that is too long,
        {65535, 7, 1024},
        {1024, 1, 0},  // a fragment after the last,
        {1024, 1, 1024},
        {2000, 0, 976},   // one that is too short,
        {2000, 1, 1024},  // or too long.
        {2000, 1, 975},
    }));
    CAPTURE(length, number, bytes);
    ShortWindow window;
    window.begin(0);
    window.keep({.mark = 0,
                 .source = kSource,
                 .length = static_cast<std::uint16_t>(length),
                 .number = static_cast<std::uint64_t>(number)},
                Bytes{fragment}.first(bytes));
    keep_all(window, packets_of(0, 3000));
    CHECK(has(window, 0, 3000));
}

TEST_CASE("random losses, repetitions and disorder: a message is right or absent") {
    const auto seed = GENERATE(range(1U, 100U));
    CAPTURE(seed);
    std::mt19937 random{seed};
    const auto below = [&random](std::size_t limit) { return random() % limit; };
    std::vector<Packet> air;
    std::vector<std::size_t> lengths;
    ShortWindow window;
    std::size_t whole = 0;
    for (std::uint64_t call = 0; call < 300; ++call) {
        while (lengths.size() < call + 1 + below(2 * kMany)) {  // A source that runs ahead.
            const std::size_t length = 1 + below(kShortBytes);
            for (Packet& packet : packets_of(lengths.size(), length)) {
                air.push_back(std::move(packet));
            }
            lengths.push_back(length);
        }
        window.begin(call);
        for (std::size_t i = below(60); i > 0 && !air.empty(); --i) {
            const std::size_t place = below(std::min<std::size_t>(air.size(), 40));
            window.keep(air[place].header, air[place].fragment);
            if (below(10) > 0) {
                air.erase(air.begin() + static_cast<std::ptrdiff_t>(place));
            }
        }
        if (const Bytes got = window.message(kSource, lengths[call]); !got.empty()) {
            ++whole;
            CHECK(std::ranges::equal(got, message_of(call, lengths[call])));
        }
    }
    CHECK(whole > 0);
}

TEST_CASE("the header of a short message's packet has 16 bytes") {
    const ShortHeader header{.mark = 0x01020304,
                             .source = Rank{0x0506},
                             .length = 0x0708,
                             .number = 0x1122334455667788};
    const auto bytes = encode_short(header);
    CHECK(bytes[0] == std::byte{1});
    CHECK(bytes[5] == std::byte{6});
    CHECK(bytes[7] == std::byte{8});
    CHECK(bytes[15] == std::byte{0x88});
    CHECK(decode_short(bytes) == header);
    CHECK(header.call() == 0x1122334455667788 / 8);
    CHECK(header.index() == 0);
    CHECK_FALSE(decode_short(Bytes{bytes}.first(15)));
}

}  // namespace stage

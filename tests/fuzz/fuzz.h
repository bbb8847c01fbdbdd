// The interface of a fuzz target.
//
// One file of this folder with two functions: fuzz_one() takes what an untrusted peer might
// send to one parser and holds that parser to its word by invariant(); fuzz_seeds() gives a few
// good inputs to begin from. libfuzzer.cpp makes a fuzzer of it, replay.cpp a test of the
// inputs in corpus/TARGET: the seeds, and what once made trouble, named after it.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/invariant.h"

#include <algorithm>
#include <string>
#include <vector>

namespace stage {

/// False if the parser refused it. Whatever comes in, it comes back, soon.
[[nodiscard]] bool fuzz_one(Bytes input);

struct FuzzSeed {
    std::string name;  ///< The file's name in corpus/.
    std::vector<std::byte> bytes;
};

[[nodiscard]] std::vector<FuzzSeed> fuzz_seeds();

// ---- for the targets' use

inline std::vector<std::byte> owned(Bytes bytes) {
    return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> owned(std::string_view text) {
    return owned(as_bytes(text));
}

inline std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline bool same(Bytes one, Bytes other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

/// A byte in front, which chooses among a target's parsers.
inline std::vector<std::byte> chosen(std::uint8_t choice, Bytes bytes) {
    return ByteWriter{}.u8(choice).raw(bytes).take();
}

/// The next few bytes: a length in one byte, then as many as there are of them.
inline Bytes piece_of(ByteReader& reader) {
    const std::size_t wanted = reader.u8();
    return reader.raw(std::min(wanted, reader.left()));
}

/// What piece_of() reads. Requires at most 255 bytes.
inline ByteWriter& put_piece(ByteWriter& writer, std::string_view text) {
    return writer.u8(static_cast<std::uint8_t>(text.size())).raw(as_bytes(text));
}

/// A message has one encoding: what is accepted is encoded to the very same bytes.
template <class Decode, class Encode>
bool is_exact(Bytes input, Decode decode, Encode encode) {
    const auto value = decode(input);
    if (!value) {
        return false;
    }
    invariant(same(encode(*value), input), "what is accepted is encoded to the same bytes");
    return true;
}

/// A message may have other encodings, but one meaning: what is accepted is encoded, and that
/// is decoded to an equal value.
template <class Decode, class Encode>
bool is_stable(Bytes input, Decode decode, Encode encode) {
    const auto value = decode(input);
    if (!value) {
        return false;
    }
    const auto again = decode(encode(*value));
    invariant(static_cast<bool>(again), "what is accepted is accepted again");
    invariant(*again == *value, "what is accepted comes back with an equal value");
    return true;
}

}  // namespace stage

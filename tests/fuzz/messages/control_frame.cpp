// Fuzzes the framing of a stream: its messages do not depend on how it arrives.
//
// The input is the lengths of the pieces in which it arrives, then the stream. What a reader
// gives that is fed piece by piece must be what stands there, up to the first length that is
// none of ours.
#include "stager/control/frame.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

constexpr std::size_t kLimit = 300;

struct Cut {
    std::vector<std::vector<std::byte>> messages;
    bool broken = false;  ///< There is a length that is none of ours.
};

/// What the stream says, read as a whole.
Cut read_whole(Bytes stream) {
    Cut cut;
    ByteReader reader{stream};
    while (reader.left() >= kFrameHeaderBytes) {
        const std::size_t length = reader.u32();
        cut.broken = length == 0 || length > kLimit;
        if (cut.broken || length > reader.left()) {
            break;
        }
        cut.messages.push_back(owned(reader.raw(length)));
    }
    return cut;
}

/// Reads the frames through a FrameReader.
Cut read_pieces(Bytes stream, Bytes lengths) {
    Cut cut;
    FrameReader reader{kLimit};
    for (std::size_t turn = 0; !stream.empty() && !cut.broken; ++turn) {
        const std::size_t wanted =
            lengths.empty() ? stream.size()
                            : 1 + std::to_integer<std::size_t>(lengths[turn % lengths.size()]);
        const Bytes piece = stream.first(std::min(wanted, stream.size()));
        stream = stream.subspan(piece.size());
        cut.broken = !reader.feed(piece).ok();
        while (auto message = reader.next()) {
            invariant(!cut.broken, "a reader that has failed gives nothing more");
            cut.messages.push_back(std::move(*message));
        }
    }
    invariant(!cut.broken || !reader.feed(framed(as_bytes("x"))).ok(),
              "a reader fails for good");
    return cut;
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const Bytes lengths = piece_of(reader);
    const Bytes stream = reader.raw(reader.left());
    const Cut whole = read_whole(stream);
    const Cut pieces = read_pieces(stream, lengths);
    invariant(whole.messages == pieces.messages, "the pieces make no difference");
    invariant(whole.broken || !pieces.broken, "what is in order is read");
    return !whole.messages.empty();
}

std::vector<FuzzSeed> fuzz_seeds() {
    ByteWriter stream;
    stream.raw(framed(as_bytes("one"))).raw(framed(as_bytes("a second message")));
    stream.raw(framed(owned(std::string(256, 'x')))).raw(framed(as_bytes("last")));
    const auto cut = [&](std::string_view lengths, Bytes end) {
        ByteWriter out;
        return put_piece(out, lengths).raw(stream.view()).raw(end).take();
    };
    const std::string_view byte_by_byte{"\0", 1};
    return {{"whole", cut("", {})},
            {"byte_by_byte", cut(byte_by_byte, {})},
            {"pieces", cut("\x01\x07\x40", {})},
            {"too_long", cut("\x05", ByteWriter{}.u32(kLimit + 1).take())}};
}

}  // namespace stage

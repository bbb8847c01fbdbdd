// Fuzzes sealed frames between daemons: each opens once and in order, and no forged one does.
//
// The input is pieces: each is sealed and opened, after it was offered altered, cut and out of
// turn to openers that have seen the same so far; the last piece is offered as it stands.
#include "stager/link/frame_seal.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

DirectionKey key_of(std::uint8_t number) {
    LinkSecret secret{};
    secret.fill(static_cast<std::byte>(number));
    return derive_link_keys(secret, secret, {}, hash_transcript(as_bytes("hello"))).to_acceptor;
}

/// An opener that has opened `frames`.
FrameOpener opener_after(const std::vector<std::vector<std::byte>>& frames) {
    FrameOpener opener{key_of(1)};
    for (const auto& frame : frames) {
        invariant(opener.open(frame).ok(), "frames open in their order");
    }
    return opener;
}

void check_length(Bytes header) {
    const auto length = FrameOpener::whole_length(header);
    invariant(!length || (*length > kFrameHeader + kFrameTag &&
                          *length <= kFrameHeader + kFrameMax + kFrameTag),
              "a frame's length has limits");
}

void check_altered(const std::vector<std::vector<std::byte>>& before,
                   std::vector<std::byte> frame,
                   std::size_t at) {
    const auto whole = frame;
    frame[at % frame.size()] ^= std::byte{1};
    invariant(!opener_after(before).open(frame), "an altered frame is refused");
    const Bytes cut = Bytes{whole}.first(at % whole.size());
    invariant(!opener_after(before).open(cut), "a part of a frame is refused");
    auto opener = opener_after(before);
    invariant(opener.open(whole) && !opener.open(whole), "a frame is opened once");
    FrameOpener other{key_of(2)};
    invariant(!other.open(whole), "nothing is opened with another key");
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    FrameSealer sealer{key_of(1)};
    std::vector<std::vector<std::byte>> frames;
    while (reader.left() > 2 && frames.size() < 6) {
        const std::size_t at = reader.u8();
        const Bytes plain = piece_of(reader);
        if (plain.empty()) {
            break;
        }
        std::vector<std::byte> frame;
        sealer.seal(plain, frame);
        check_altered(frames, frame, at);
        const auto opened = opener_after(frames).open(frame);
        invariant(opened && same(*opened, plain), "a frame opens as it was");
        frames.push_back(std::move(frame));
    }
    const Bytes noise = reader.raw(reader.left());
    check_length(noise.first(std::min(noise.size(), kFrameHeader)));
    invariant(!opener_after(frames).open(noise), "a forged frame is refused");
    return !frames.empty();
}

std::vector<FuzzSeed> fuzz_seeds() {
    ByteWriter out;
    for (const char* text : {"a first frame", "x", "and a third"}) {
        put_piece(out.u8(2), text);
    }
    const auto frames = owned(out.view());
    out.u8(0).u8(0).u32(20).raw(as_bytes("none of our sealed frames"));
    return {{"frames", frames}, {"frames_and_noise", out.take()}};
}

}  // namespace stage

// Fuzzes sealing: a member opens what its peer has sealed, once, and nothing else.
//
// The input is a protection, then steps: the peer seals a packet (any type, number and body),
// or an unauthorised peer sends bytes. The member must open the first, unless it is old, in a
// copy that is not altered; a member with another key must open none.
#include "tests/fuzz/fuzz.h"
#include "transport/seal/session_seal.h"

namespace stage {
namespace {

using seal::SessionKeys;
using seal::SessionSeal;
using wire::Header;

constexpr Rank kMember{0};
constexpr Rank kPeer{1};

SessionSeal seal_of(Protection protection, Rank own, std::uint8_t key) {
    SessionKeys keys{.protection = protection, .members = {}, .own = own};
    keys.group.fill(static_cast<std::byte>(key));
    keys.session.fill(std::byte{0x5e});
    keys.members.resize(3);
    keys.members[0].fill(std::byte{0xa0});
    keys.members[1].fill(std::byte{0xa1});
    keys.members[2].fill(std::byte{0xa2});
    return SessionSeal{std::move(keys)};
}

class World {
  public:
    explicit World(Protection protection)
        : protection_{protection},
          member_{seal_of(protection, kMember, 1)},
          peer_{seal_of(protection, kPeer, 1)},
          other_session_{seal_of(protection, kMember, 2)} {}

    /// The peer sends; true if the member took it.
    bool on_packet(ByteReader& reader) {
        Header header = drawn(reader);
        const std::uint8_t flip = reader.u8();
        const auto body = owned(piece_of(reader));
        const auto packet = sealed(header, body);
        check_altered(packet, flip);
        check_other_session(packet);
        const bool fresh = !any_ || header.packet_number > largest_;
        auto copy = packet;
        const auto opened = open(copy);
        if (opened) {
            invariant(same(opened->body, body), "the member reads what the peer has written");
            // A checksum does not know the number's upper bits, which DATA leaves out.
            invariant(opened->header == header ||
                          (header.is_data() && protection_ == Protection::none),
                      "the header comes whole");
            largest_ = std::max(largest_, opened->header.packet_number);
            any_ = true;
        }
        invariant(opened || !fresh || header.is_data(), "a fresh control packet is opened");
        check_replay(header, packet);
        return opened.has_value();
    }

    void on_noise(ByteReader& reader) {
        auto packet = owned(piece_of(reader));
        const bool opened = open(packet).has_value();
        invariant(!opened || protection_ == Protection::none, "a forged packet is refused");
    }

  private:
    static Header drawn(ByteReader& reader) {
        Header header;
        header.type = static_cast<wire::PacketType>(1 + reader.u8() % 14);
        header.flags = reader.u8() & 7U;
        header.flow = Flow{static_cast<std::uint8_t>(reader.u8() & 15U)};
        header.rank = kPeer;
        header.packet_number = reader.u64();
        if (header.is_data()) {
            header.block = BlockIndex{reader.u32()};
            header.chunk = ChunkIndex{reader.u16()};
        }
        return header;
    }

    std::vector<std::byte> sealed(Header& header, Bytes body) {
        header.session = peer_.demux();
        const std::size_t tag = peer_.tag_bytes();
        std::vector<std::byte> packet(wire::kHeaderBytes + body.size() + tag);
        const MutableBytes whole{packet};
        const MutableBytes room = whole.subspan(wire::kHeaderBytes, body.size());
        wire::write_header(header, whole);
        std::copy(body.begin(), body.end(), room.begin());
        peer_.seal(
            header.packet_number, whole.first(wire::kHeaderBytes), body, room, whole.last(tag));
        return packet;
    }

    std::optional<seal::Opened> open(std::vector<std::byte>& packet) {
        const std::uint64_t refused = member_.counters().refused();
        auto opened = member_.open(packet);
        invariant(member_.counters().refused() == refused + (opened ? 0 : 1),
                  "what is refused is counted, once");
        return opened;
    }

    void check_altered(std::vector<std::byte> packet, std::uint8_t flip) {
        packet[flip % packet.size()] ^= std::byte{0x40};
        invariant(!open(packet), "an altered packet is refused");
    }

    void check_other_session(std::vector<std::byte> packet) {
        invariant(!other_session_.open(packet) || protection_ == Protection::none,
                  "nothing is opened with another key");
    }

    void check_replay(const Header& header, std::vector<std::byte> packet) {
        invariant(header.is_data() || !open(packet), "a control packet is opened once");
    }

    Protection protection_;
    SessionSeal member_;
    SessionSeal peer_;
    SessionSeal other_session_;
    bool any_ = false;
    std::uint64_t largest_ = 0;
};

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    World world{static_cast<Protection>(reader.u8() % 3)};
    bool taken = false;
    for (int steps = 0; steps < 64 && reader.left() > 0; ++steps) {
        if (reader.u8() % 4 == 3) {
            world.on_noise(reader);
        } else {
            taken = world.on_packet(reader) || taken;
        }
    }
    return taken;
}

std::vector<FuzzSeed> fuzz_seeds() {
    std::vector<FuzzSeed> seeds;
    for (std::uint8_t protection = 0; protection < 3; ++protection) {
        ByteWriter out;
        out.u8(protection);
        out.u8(0).u8(1).u8(0).u8(0).u64(1).u8(20);
        put_piece(out, "control");
        out.u8(0).u8(0).u8(1).u8(2).u64(2).u32(7).u16(8).u8(3);
        put_piece(out, "chunk of a block");
        out.u8(0).u8(9).u8(0).u8(0).u64(1ULL << 40U).u8(0);
        put_piece(out, "");
        out.u8(3);
        put_piece(out, "noise that is no packet at all");
        seeds.push_back({"protection_" + std::to_string(protection), out.take()});
    }
    return seeds;
}

}  // namespace stage

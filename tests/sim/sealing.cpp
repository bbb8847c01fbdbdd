#include "tests/sim/sealing.h"

#include "transport/base/codec.h"

#include <algorithm>

namespace stage::sim {

Sealing::Sealing(const Plan& plan, std::uint16_t rank) {
    if (!plan.is_really_sealed) {
        return;
    }
    seal::SessionKeys keys;
    keys.own = Rank{rank};
    keys.members.resize(plan.members);
    for (std::uint16_t member = 0; member < plan.members; ++member) {
        keys.members[member][0] = static_cast<std::byte>(member & 0xffU);
        keys.members[member][1] = std::byte{1};
    }
    real_.emplace(keys);
}

void Sealing::seal(Packet& packet) {
    if (!real_) {
        return;
    }
    // A DATA packet's payload is played by its content number: what is to be proved is the
    // header, the number and the key, not that AES encrypts more bytes.
    std::vector<std::byte> plain;
    if (packet.header.is_data()) {
        plain = ByteWriter{}.u64(packet.content).take();
    } else if (packet.body) {
        plain = *packet.body;
    }
    std::vector<std::byte> bytes(wire::kHeaderBytes + plain.size() + real_->tag_bytes());
    packet.header.session = real_->demux();
    const MutableBytes all{bytes};
    const MutableBytes head = all.first(wire::kHeaderBytes);
    wire::write_header(packet.header, head);
    real_->seal(packet.header.packet_number,
                head,
                plain,
                all.subspan(wire::kHeaderBytes, plain.size()),
                all.last(real_->tag_bytes()));
    packet.body = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

std::optional<Packet> Sealing::open(const Packet& packet, bool is_corrupt, Prng& prng) {
    if (real_) {
        return open_real(packet, is_corrupt, prng);
    }
    Sender& sender = senders_[packet.from];
    const std::uint64_t number = packet.header.packet_number;
    if (is_corrupt) {
        ++refused_;
        return std::nullopt;
    }
    const bool opens =
        packet.header.is_data()
            ? wire::expand(sender.largest, static_cast<std::uint16_t>(number & 0xffffU)) ==
                  number
            : sender.control.admit(number);
    if (!opens) {
        ++refused_;
        return std::nullopt;
    }
    sender.largest = std::max(sender.largest, number);
    return packet;
}

std::optional<Packet> Sealing::open_real(const Packet& packet, bool is_corrupt, Prng& prng) {
    std::vector<std::byte> bytes = *packet.body;
    if (is_corrupt) {
        const std::size_t at = prng.below(bytes.size());
        bytes[at] ^= static_cast<std::byte>(1U << prng.below(8));
    }
    const auto opened = real_->open(bytes);
    if (!opened) {
        ++refused_;
        return std::nullopt;
    }
    Packet out = packet;
    out.header = opened->header;
    if (out.header.is_data()) {
        ByteReader reader{opened->body};
        out.content = reader.u64();
    } else {
        out.body = std::make_shared<const std::vector<std::byte>>(opened->body.begin(),
                                                                  opened->body.end());
    }
    return out;
}

}  // namespace stage::sim

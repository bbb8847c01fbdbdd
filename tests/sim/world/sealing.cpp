#include "tests/sim/world/sealing.h"

#include "transport/base/codec.h"

#include <algorithm>

namespace stage::sim {

Sealing::Sealing(const Plan& plan, std::uint16_t rank) : is_played_{plan.is_seal_played} {
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

void Sealing::seal(Train& train) {
    train.sealed.clear();
    if (!real_) {
        return;
    }
    for (std::uint32_t i = 0; i < train.count; ++i) {
        wire::Header header = plain(train, i).header;
        // A DATA packet's payload is played by its content number: what is to be proved is the
        // header, the number and the key, not that AES encrypts more bytes.
        const std::vector<std::byte> body =
            header.is_data() ? ByteWriter{}.u64(train.contents[i]).take() : train.body;
        std::vector<std::byte> bytes(wire::kHeaderBytes + body.size() + real_->tag_bytes());
        header.session = real_->demux();
        const MutableBytes all{bytes};
        const MutableBytes head = all.first(wire::kHeaderBytes);
        wire::write_header(header, head);
        real_->seal(header.packet_number,
                    head,
                    body,
                    all.subspan(wire::kHeaderBytes, body.size()),
                    all.last(real_->tag_bytes()));
        train.sealed.push_back(std::move(bytes));
    }
}

Sealing::Opened Sealing::plain(const Train& train, std::uint32_t index) {
    Opened opened{.header = train.header, .content = 0, .body = train.body};
    opened.header.packet_number += index;
    if (opened.header.is_data()) {
        const std::uint32_t chunk = train.header.chunk.value() + index;
        opened.header.chunk = ChunkIndex{static_cast<std::uint16_t>(chunk)};
        opened.content = train.contents.empty() ? 0 : train.contents[index];
    }
    return opened;
}

std::optional<Sealing::Opened> Sealing::open(const Train& train,
                                             std::uint32_t index,
                                             bool is_corrupt,
                                             Prng& prng) {
    if (real_) {
        return open_real(train, index, is_corrupt, prng);
    }
    Opened opened = plain(train, index);
    if (is_corrupt) {
        ++refused_;
        return std::nullopt;
    }
    if (!is_played_) {
        return opened;
    }
    Sender& sender = senders_[train.from];
    const std::uint64_t number = opened.header.packet_number;
    const bool opens =
        opened.header.is_data()
            ? wire::expand(sender.largest, static_cast<std::uint16_t>(number & 0xffffU)) ==
                  number
            : sender.control.admit(number);
    if (!opens) {
        ++refused_;
        return std::nullopt;
    }
    sender.largest = std::max(sender.largest, number);
    return opened;
}

std::optional<Sealing::Opened> Sealing::open_real(const Train& train,
                                                  std::uint32_t index,
                                                  bool is_corrupt,
                                                  Prng& prng) {
    packet_ = train.sealed[index];
    if (is_corrupt) {
        const std::size_t at = prng.below(packet_.size());
        packet_[at] ^= static_cast<std::byte>(1U << prng.below(8));
    }
    const auto opened = real_->open(packet_);
    if (!opened) {
        ++refused_;
        return std::nullopt;
    }
    Opened out{.header = opened->header, .content = 0, .body = opened->body};
    if (out.header.is_data()) {
        ByteReader reader{opened->body};
        out.content = reader.u64();
    }
    return out;
}

}  // namespace stage::sim
